import { render, screen } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { fakePlatform } from "../../platform/fake";
import { Store } from "../../state/store.svelte";
import ServerTrustStage from "./ServerTrustStage.test.svelte";

async function stage(before: (store: Store) => void = () => undefined) {
  const store = new Store(fakePlatform({ now: () => 1, stepMs: 1 }));
  await store.start();
  before(store);
  render(ServerTrustStage, { store, serverId: "s1" });
  await screen.findByTestId("server-trust");
  return () => store.rpc("server_trust", { server_id: "s1" });
}

describe("what a server may have", () => {
  it("is nothing until somebody chooses", async () => {
    const kept = await stage();
    expect(screen.getByTestId("trust-model").textContent).toContain("Never");
    expect(screen.getByTestId("trust-log").textContent).toContain("Nothing");
    expect(await kept()).toEqual({ asks_model: false, roots: [], log_level: null });
  });

  it("is kept when it is chosen, with the keyboard alone", async () => {
    const kept = await stage();
    screen.getByTestId("trust-model").focus();
    await userEvent.keyboard("{Enter}");
    await userEvent.keyboard("{ArrowDown}{Enter}");
    await expect.poll(async () => (await kept()).asks_model).toBe(true);
    screen.getByRole("textbox", { name: "A folder, as a whole path" }).focus();
    await userEvent.keyboard("project{Enter}");
    expect((await screen.findByText('"project" is not a whole path.')).textContent).toBeTruthy();
    await userEvent.clear(screen.getByRole("textbox"));
    await userEvent.type(screen.getByRole("textbox"), "/home/me/project{Enter}");
    expect(await screen.findByText("/home/me/project")).toBeTruthy();
    expect(await kept()).toEqual({ asks_model: true, roots: ["/home/me/project"], log_level: null });
    await userEvent.click(screen.getByRole("button", { name: "Tell it no more of /home/me/project" }));
    await expect.poll(async () => (await kept()).roots).toEqual([]);
    await expect.poll(() => document.activeElement).toBe(screen.getByRole("textbox"));
  });

  it("is kept whole when two changes follow each other before the host has answered", async () => {
    const wait: (() => void)[] = [];
    const kept = await stage((store) => {
      const rpc = store.rpc.bind(store);
      vi.spyOn(store, "rpc").mockImplementation(async (cmd, payload) => {
        if (cmd === "set_server_trust") await new Promise<void>((resolve) => wait.push(resolve));
        return rpc(cmd, payload);
      });
    });
    const folder = screen.getByRole("textbox");
    await userEvent.type(folder, "/one{Enter}");
    await userEvent.clear(folder);
    await userEvent.type(folder, "/two{Enter}");
    await expect.poll(() => wait.length).toBe(1);
    wait[0]?.();
    await expect.poll(() => wait.length).toBe(2);
    wait[1]?.();
    await screen.findByText("/two");
    expect((await kept()).roots).toEqual(["/one", "/two"]);
  });

  it("says why it cannot be read, and reads it again", async () => {
    const staged = stage((store) =>
      vi.spyOn(store, "rpc").mockImplementationOnce(() => Promise.reject({ what: "The disk is away.", safe: "Nothing changed.", todo: "Look at it." })),
    );
    expect((await screen.findByRole("alert")).textContent).toContain("The disk is away.");
    await userEvent.click(screen.getByTestId("trust-again"));
    await staged;
    expect(screen.queryByRole("alert")).toBeNull();
  });
});
