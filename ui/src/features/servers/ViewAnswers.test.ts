import { render, screen } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { fakePlatform } from "../../platform/fake";
import { Store } from "../../state/store.svelte";
import ViewAnswersStage from "./ViewAnswersStage.test.svelte";

const API = { kind: "connect", what: "https://api.example.com" } as const;
const CAMERA = { kind: "permission", what: "camera" } as const;

async function stage() {
  const store = new Store(fakePlatform({ now: () => 1, stepMs: 1 }));
  await store.start();
  return store;
}

describe("what the Views of a server may have", () => {
  it("is nothing until somebody was asked", async () => {
    render(ViewAnswersStage, { store: await stage(), serverId: "s1" });
    expect((await screen.findByText(/Nothing beyond their own pages/)).textContent).toBeTruthy();
  });

  it("is taken back, allowed and forgotten, and stays usable by the keyboard", async () => {
    const store = await stage();
    await store.rpc("set_view_access", { server_id: "s1", wishes: [API, CAMERA], allowed: true });
    render(ViewAnswersStage, { store, serverId: "s1" });
    (await screen.findByRole("button", { name: "Take back: The camera" })).focus();
    await userEvent.keyboard("{Enter}");
    await screen.findByRole("button", { name: "Allow: The camera" });
    expect(await store.rpc("view_answers", { server_id: "s1" })).toEqual({ allowed: [API], refused: [CAMERA] });
    await userEvent.click(screen.getByRole("button", { name: "Allow: The camera" }));
    await screen.findByRole("button", { name: "Take back: The camera" });
    await userEvent.click(screen.getByTestId("view-answers-forget"));
    await screen.findByText(/Nothing beyond their own pages/);
    expect(await store.rpc("view_answers", { server_id: "s1" })).toEqual({ allowed: [], refused: [] });
    await expect.poll(() => document.activeElement).toBe(screen.getByTestId("view-answers"));
  });
});
