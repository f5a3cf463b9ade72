import { render, screen, waitFor } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { fakePlatform } from "../../platform/fake";
import { Store } from "../../state/store.svelte";
import ComposerStage from "./ComposerStage.test.svelte";

async function stage(conversationId: string) {
  const platform = fakePlatform({ now: () => 1_800_000_000_000, stepMs: 1 });
  const rpc = vi.spyOn(platform, "rpc");
  const store = new Store(platform);
  await store.start();
  await store.openConversation(conversationId);
  render(ComposerStage, { store });
  const sent = () => rpc.mock.calls.filter(([cmd]) => cmd === "send_message" || cmd === "stop_turn");
  return { platform, store, rpc, sent, field: screen.getByTestId<HTMLTextAreaElement>("composer-input") };
}

describe("the composer", () => {
  it("sends with Enter, once, and empties itself", async () => {
    const { sent, field } = await stage("c2");
    await userEvent.type(field, "Hello{Shift>}{Enter}{/Shift}there{Enter}");
    await waitFor(() =>
      expect(sent()).toEqual([["send_message", { conversation_id: "c2", text: "Hello\nthere" }]]),
    );
    expect(field.value).toBe("");
  });

  it("sends nothing that is empty", async () => {
    const { sent, field } = await stage("c2");
    await userEvent.type(field, "  {Enter}");
    expect(sent()).toEqual([]);
    expect(screen.getByTestId<HTMLButtonElement>("composer-send").disabled).toBe(true);
  });

  it("sends what a View says without a word of the user, once no model has read it", async () => {
    const { rpc, store } = await stage("c2");
    const button = screen.getByTestId<HTMLButtonElement>("composer-send");
    const says = { kind: "door" as const, text: "a View's message", chip: null, bytes: 4, is_message: true, words: "Why?", pictures: null };
    store.conversation = { ...store.conversation!, items: [...store.conversation!.items, { id: "d", seq: 999, at_ms: 0, kind: says }] };
    await waitFor(() => expect(button.disabled).toBe(false));
    await userEvent.click(button);
    expect(rpc.mock.calls.filter(([cmd]) => cmd === "retry_turn")).toEqual([["retry_turn", { conversation_id: "c2" }]]);
    expect(rpc.mock.calls.some(([cmd]) => cmd === "send_message")).toBe(false);
  });

  it("keeps what was typed when it was not taken, and says so", async () => {
    const { rpc, store, field } = await stage("c2");
    rpc.mockImplementationOnce(() => Promise.reject({ what: "The disk is full.", safe: "Nothing was sent.", todo: "Make room." }));
    await userEvent.type(field, "Keep me{Enter}");
    await waitFor(() => expect(field.value).toBe("Keep me"));
    expect(store.localNotices.map((n) => n.what)).toEqual(["The disk is full."]);
  });

  it("does not send while a turn runs, and stops it with Esc", async () => {
    const { sent, field } = await stage("c1");
    expect(screen.queryByTestId("composer-send")).toBeNull();
    await userEvent.type(field, "next{Enter}");
    expect(sent()).toEqual([]);
    await userEvent.type(field, "{Escape}");
    expect(sent()).toEqual([["stop_turn", { conversation_id: "c1" }]]);
    await waitFor(() => expect(screen.getByTestId("composer-send")).toBeTruthy());
    expect(field.value).toBe("next");
  });

  it("previews what the next call asks for", async () => {
    const { store } = await stage("c2");
    const chips = () => screen.getAllByTestId("chip").map((c) => `${c.dataset.audience}/${c.dataset.format}`);
    await waitFor(() => expect(chips()).toEqual(["assistant/content", "user/structured"]));
    await store.configure({ mode: "code" });
    await waitFor(() => expect(chips()).toEqual(["programmatic/structured"]));
  });

  it("leaves the field usable when Custom is chosen; its editor has a button of its own", async () => {
    const { field } = await stage("c2");
    expect(screen.queryByTestId("custom-edit")).toBeNull();
    await userEvent.click(screen.getByTestId("mode-select"));
    await userEvent.click(await screen.findByTestId("mode-select-custom"));
    const edit = await screen.findByTestId("custom-edit");
    expect(screen.queryByTestId("custom-editor")).toBeNull();
    await userEvent.type(field, "still here");
    expect(field.value).toBe("still here");
    await userEvent.click(edit);
    expect(await screen.findByTestId("custom-editor")).toBeTruthy();
  });
});
