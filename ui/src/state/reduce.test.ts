import { describe, expect, it } from "vitest";
import type { Item } from "../bindings/Item";
import type { UiBatch } from "../bindings/UiBatch";
import type { UiEvent } from "../bindings/UiEvent";
import { demoConversations, searchLedger, searchCall } from "../platform/demo/conversation";
import { demoModels, demoServers } from "../platform/demo/servers";
import { applyBatch, fromSnapshot, reduce, SCRIPT_LINES_KEPT, withConversation, type AppState } from "./reduce";

const NOW = 1_800_000_000_000;

function start(): AppState {
  const [first, ...rest] = demoConversations(NOW);
  if (first === undefined) throw new Error("The demonstration has no conversation.");
  const state = fromSnapshot({
    next_seq: 10,
    version: "0.1.0",
    data_dir: "/data",
    first_run: false,
    servers: demoServers(),
    conversations: [first, ...rest].map((c) => c.summary),
    models: demoModels(),
    settings: { theme: "system", omit_fallback_selection: false, decline_schemaless: false, tour_done: true },
    notices: [],
    questions: [],
  });
  return withConversation(state, { ...first, items: [], ledger: [], exchanges: [] });
}

function note(id: string, seq: number, text = id): Item {
  return { id, seq, at_ms: NOW, kind: { kind: "note", text } };
}

function answer(id: string, seq: number, text: string): Item {
  return {
    id,
    seq,
    at_ms: NOW,
    kind: { kind: "assistant", text, state: { kind: "streaming" }, model: "m", usage: null },
  };
}

function items(state: AppState): Item[] {
  return state.open.c1?.items ?? [];
}

const changed = (item: Item): UiEvent => ({ type: "item_changed", conversation_id: "c1", item });
const text = (id: string, more: string, offset = 0): UiEvent => ({
  type: "text_appended",
  conversation_id: "c1",
  item_id: id,
  offset,
  text: more,
});

function play(state: AppState, ...batches: UiBatch[]): AppState {
  return batches.reduce((s, b) => {
    const outcome = applyBatch(s, b);
    if (outcome.kind === "gap") throw new Error(`gap before ${b.first_seq}`);
    return outcome.state;
  }, state);
}

describe("text", () => {
  it("that an answer holds already is not doubled", () => {
    const state = play(start(), { first_seq: 10, events: [changed(answer("a", 1, "Hello"))] });
    const again = reduce(reduce(state, text("a", "lo wor", 3)), text("a", "ld", 9));
    expect(items(again)[0]?.kind).toMatchObject({ text: "Hello world" });
  });
});

describe("a batch", () => {
  it("is applied in order and moves the sequence on", () => {
    const state = play(
      start(),
      { first_seq: 10, events: [changed(answer("a", 1, "")), text("a", "Hel")] },
      { first_seq: 12, events: [text("a", "lo", 3)] },
    );
    expect(state.nextSeq).toBe(13);
    expect(items(state)[0]?.kind).toMatchObject({ text: "Hello" });
  });

  it("is applied once, even when its tail is repeated", () => {
    const first = { first_seq: 10, events: [changed(answer("a", 1, "")), text("a", "x")] };
    const overlap = { first_seq: 11, events: [text("a", "x"), text("a", "y", 1)] };
    const state = play(start(), first, first, overlap);
    expect(items(state)[0]?.kind).toMatchObject({ text: "xy" });
    expect(state.nextSeq).toBe(13);
  });

  it("that starts too late is a gap and changes nothing", () => {
    expect(applyBatch(start(), { first_seq: 11, events: [changed(note("a", 1))] })).toEqual({ kind: "gap" });
  });
});

describe("an item", () => {
  it("is placed by its seq and replaced by its id", () => {
    const state = [note("b", 2), note("c", 3), note("a", 1), note("b", 2, "new")]
      .map(changed)
      .reduce(reduce, start());
    expect(items(state).map((i) => [i.id, i.kind.kind === "note" && i.kind.text])).toEqual([
      ["a", "a"],
      ["b", "new"],
      ["c", "c"],
    ]);
  });

  it("moves when its seq changes, and is never there twice", () => {
    const state = [note("a", 1), note("b", 2), note("a", 3)].map(changed).reduce(reduce, start());
    expect(items(state).map((i) => i.id)).toEqual(["b", "a"]);
  });

  it("keeps the identity of its neighbours, so that they are not drawn again", () => {
    const before = [note("a", 1), answer("b", 2, "")].map(changed).reduce(reduce, start());
    const after = reduce(before, text("b", "word"));
    expect(items(after)[0]).toBe(items(before)[0]);
    expect(items(before)[1]?.kind).toMatchObject({ text: "" });
  });

  it("goes away alone", () => {
    const before = [note("a", 1), note("b", 2)].map(changed).reduce(reduce, start());
    const after = reduce(before, { type: "item_removed", conversation_id: "c1", item_id: "a" });
    expect(items(after)).toEqual([items(before)[1]]);
  });

  it("of a conversation that is not open leaves no trace", () => {
    const state = start();
    expect(reduce(state, { type: "item_changed", conversation_id: "c2", item: note("a", 1) })).toBe(state);
  });

  it("takes text only when it is an answer that is there", () => {
    const state = reduce(start(), changed(note("a", 1)));
    expect(items(reduce(state, text("a", "x")))).toEqual(items(state));
    expect(items(reduce(state, text("none", "x")))).toEqual(items(state));
  });
});

describe("what belongs to a conversation", () => {
  it("keeps the ledger without repeats", () => {
    const rows = searchLedger(searchCall(7), 1, NOW);
    const append = (from: number, to: number): UiEvent => ({
      type: "ledger_appended",
      conversation_id: "c1",
      rows: rows.slice(from, to),
    });
    const state = [append(0, 3), append(1, 5), append(5, 6)].reduce(reduce, start());
    expect(state.open.c1?.ledger.map((r) => r.seq)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("puts a row in the place of calls that are folded", () => {
    const rows = searchLedger(searchCall(7), 1, NOW);
    const [first, second] = rows;
    if (first === undefined || second === undefined) throw new Error("too few rows");
    const mine = { ...first, seq: 1, call_id: "old" };
    const other = { ...second, seq: 2, call_id: "kept" };
    const more = { ...second, seq: 3, call_id: "old" };
    const line = (text: string) => ({ ...first, seq: 1, call_id: null, text });
    const folded = (text: string): UiEvent => ({ type: "ledger_folded", conversation_id: "c1", call_ids: ["old"], rows: [line(text)] });
    const append: UiEvent = { type: "ledger_appended", conversation_id: "c1", rows: [mine, other, more] };
    const once = [append, folded("64 times")].reduce(reduce, start());
    expect(once.open.c1?.ledger).toEqual([line("64 times"), other]);
    expect(reduce(once, folded("128 times")).open.c1?.ledger).toEqual([line("128 times"), other]);
  });

  it("follows its summary in the list and when open", () => {
    const state = start();
    const summary = { ...state.conversations[2]!, title: "Renamed", updated_ms: NOW + 1 };
    const after = reduce(state, { type: "conversation_changed", summary });
    expect(after.conversations[0]?.title).toBe("Renamed");
    const open = reduce(state, {
      type: "conversation_changed",
      summary: { ...state.conversations[0]!, title: "Open" },
    });
    expect(open.open.c1?.summary.title).toBe("Open");
  });

  it("goes when the conversation goes", () => {
    const after = reduce(start(), { type: "conversation_removed", conversation_id: "c1" });
    expect(after.open.c1).toBeUndefined();
    expect(after.conversations.some((c) => c.id === "c1")).toBe(false);
  });

  it("replaces an exchange by its id", () => {
    const exchange = demoConversations(NOW)[0]!.exchanges[0]!;
    const say = (outcome: string): UiEvent => ({
      type: "exchange_changed",
      conversation_id: "c1",
      exchange: { ...exchange, outcome },
    });
    const state = [say("sent"), say("200")].reduce(reduce, start());
    expect(state.open.c1?.exchanges.map((x) => x.outcome)).toEqual(["200"]);
  });
});

describe("the rest", () => {
  it("keeps questions until they are gone", () => {
    const question = { id: "q", server_name: "S", asked: { kind: "url" as const, message: "m", url: "https://a.b/", host: "a.b" } };
    const asked = reduce(start(), { type: "question_asked", question });
    expect(asked.questions).toEqual([question]);
    expect(reduce(asked, { type: "question_gone", question_id: "q" }).questions).toEqual([]);
  });

  it("replaces servers, raises and clears notices", () => {
    const server = { ...demoServers()[0]!, state: { kind: "off" } as const };
    const notice = { id: "n", level: "error", what: "w", safe: "s", todo: "t" } as const;
    const raised = [
      { type: "server_changed", server } as const,
      { type: "server_removed", server_id: "postgres" } as const,
      { type: "notice_raised", notice } as const,
      { type: "notice_raised", notice } as const,
    ].reduce(reduce, start());
    expect(raised.servers.map((s) => [s.id, s.state.kind])).toEqual([
      ["sample", "off"],
      ["filesystem", "ready"],
      ["budget", "ready"],
      ["github", "failed"],
    ]);
    expect(raised.notices).toHaveLength(1);
    expect(reduce(raised, { type: "notice_cleared", notice_id: "n" }).notices).toEqual([]);
  });

  it("keeps the last lines of a script that prints without end", () => {
    let state = start();
    for (let i = 0; i < SCRIPT_LINES_KEPT + 5; i += 1) {
      state = reduce(state, {
        type: "script_output",
        run_id: "r",
        line: { kind: "log", level: "log", text: String(i) },
      });
    }
    expect(state.scripts.r).toHaveLength(SCRIPT_LINES_KEPT);
    expect(state.scripts.r?.at(-1)).toMatchObject({ text: String(SCRIPT_LINES_KEPT + 4) });
  });
});
