import { render, screen } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { fakePlatform } from "../../platform/fake";
import { Store } from "../../state/store.svelte";
import ServerTrustStage from "./ServerTrustStage.test.svelte";

async function stage() {
  const store = new Store(fakePlatform({ now: () => 1, stepMs: 1 }));
  await store.start();
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
  });
});
