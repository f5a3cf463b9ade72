import { describe, expect, it, vi } from "vitest";
import type { Snapshot } from "../bindings/Snapshot";
import type { UiBatch } from "../bindings/UiBatch";
import { demoConversations } from "../platform/demo/conversation";
import type { Platform } from "../platform/types";
import { Store } from "./store.svelte";

const NOW = 1_800_000_000_000;

/** A host that says nothing by itself. */
function quietHost() {
  const conversations = demoConversations(NOW);
  const listeners: ((batch: UiBatch) => void)[] = [];
  const since: (number | null)[] = [];
  const opened: string[] = [];
  const host = { nextSeq: 5, opened, since, conversations, listeners, emit: (batch: UiBatch) => listeners.at(-1)?.(batch) };
  const platform: Platform = {
    async rpc(cmd, payload) {
      if (cmd !== "open_conversation") throw { what: "No.", safe: "All of it.", todo: "Nothing." };
      const { conversation_id } = payload as { conversation_id: string };
      opened.push(conversation_id);
      return conversations.find((c) => c.summary.id === conversation_id) as never;
    },
    async subscribe(from, onBatch): Promise<Snapshot> {
      since.push(from);
      listeners.push(onBatch);
      return {
        next_seq: host.nextSeq,
        version: "0.1.0",
        data_dir: "/data",
        first_run: false,
        servers: [],
        conversations: conversations.map((c) => c.summary),
        models: [],
        settings: { theme: "system", omit_fallback_selection: false, decline_schemaless: false, tour_done: true },
        notices: [],
        questions: [],
      };
    },
  };
  return { host, store: new Store(platform) };
}

const notice = (id: string) =>
  ({ type: "notice_raised", notice: { id, level: "info", what: id, safe: "", todo: "" } }) as const;
const ids = (store: Store) => store.state?.notices.map((n) => n.id);

describe("the store", () => {
  it("starts with the snapshot and the newest conversation", async () => {
    const { host, store } = quietHost();
    await store.start();
    expect(host.since).toEqual([null]);
    expect(store.conversation?.summary.title).toBe("Globex accounts");
    expect(store.call?.tool).toBe("refresh_dashboard");
    store.pickCall("call-7", "wire");
    expect([store.call?.tool, store.tab]).toEqual(["search_customers", "wire"]);
  });

  it("keeps batches that overtake the snapshot", async () => {
    const { host, store } = quietHost();
    const starting = store.start();
    host.emit({ first_seq: 4, events: [notice("in the snapshot"), notice("after it")] });
    await starting;
    expect(ids(store)).toEqual(["after it"]);
  });

  it("subscribes again at a gap, and reads what is open again", async () => {
    const { host, store } = quietHost();
    await store.start();
    const stale = host.listeners[0]!;
    host.nextSeq = 10;
    host.emit({ first_seq: 8, events: [notice("lost")] });
    await vi.waitFor(() => expect(host.opened).toEqual(["c1", "c1"]));
    expect(host.since).toEqual([null, 5]);
    stale({ first_seq: 10, events: [notice("of the old stream")] });
    host.emit({ first_seq: 10, events: [notice("new")] });
    expect(ids(store)).toEqual(["new"]);
  });

  it("reads a conversation again when it changed while it was on its way", async () => {
    const { host, store } = quietHost();
    await store.start();
    const opening = store.openConversation("c2");
    host.emit({ first_seq: 5, events: [{ type: "text_appended", conversation_id: "c2", item_id: "c2-2", offset: 0, text: "x" }] });
    await opening;
    expect(host.opened).toEqual(["c1", "c2", "c2"]);
  });

  it("shows another conversation when the open one goes", async () => {
    const { host, store } = quietHost();
    await store.start();
    host.emit({ first_seq: 5, events: [{ type: "conversation_removed", conversation_id: "c1" }] });
    await vi.waitFor(() => expect(store.conversation?.summary.id).toBe("c2"));
  });

  it("hands a View its messages and nobody else's", async () => {
    const { host, store } = quietHost();
    await store.start();
    const heard: string[] = [];
    const stop = store.onViewMessage("v1", (m) => heard.push(m));
    const say = (seq: number, view_id: string) =>
      host.emit({ first_seq: seq, events: [{ type: "view_message", view_id, message_json: view_id }] });
    say(5, "v1");
    say(6, "v2");
    stop();
    say(7, "v1");
    expect(heard).toEqual(["v1"]);
  });

  it("forgets what was said to a View that nobody opens any more", async () => {
    const { host, store } = quietHost();
    await store.start();
    host.emit({ first_seq: 5, events: [{ type: "view_message", view_id: "v1", message_json: "stray" }] });
    const heard: string[] = [];
    store.onViewMessage("v1", (m) => heard.push(m))();
    expect(heard).toEqual([]);
  });

  it("turns a refusal into a notice, once", async () => {
    const { store } = quietHost();
    await store.start();
    await store.ask("stop_turn", { conversation_id: "c1" });
    await store.ask("stop_turn", { conversation_id: "c1" });
    expect(store.localNotices.map((n) => [n.level, n.what])).toEqual([["error", "No."]]);
  });
});
