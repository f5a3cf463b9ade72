import { describe, expect, it } from "vitest";
import type { Item } from "../../bindings/Item";
import { demoCall, demoConversations, item, searchCall } from "../../platform/demo/conversation";
import { CHIP, demoServers } from "../../platform/demo/servers";
import { deliveryHint, otherDefects, progressShare, receivedBy, serverHints, stateLook } from "./call";
import { byConversation, inSight, marked } from "./hits";
import { groupByDay } from "./groups";
import { composerKey } from "./keys";
import { customProblems } from "./selection";
import { isSilent, turnUsage } from "./turns";

const key = (key: string, more: Partial<KeyboardEvent> = {}) => ({
  key,
  shiftKey: false,
  altKey: false,
  isComposing: false,
  keyCode: 0,
  ...more,
});

describe("a key in the composer", () => {
  it("sends with Enter alone", () => {
    expect(composerKey(key("Enter"), false)).toBe("send");
    expect(composerKey(key("Enter", { shiftKey: true }), false)).toBeNull();
    expect(composerKey(key("Enter", { altKey: true }), false)).toBeNull();
    expect(composerKey(key("a"), false)).toBeNull();
  });

  it("stops with Esc only while something runs", () => {
    expect(composerKey(key("Escape"), true)).toBe("stop");
    expect(composerKey(key("Escape"), false)).toBeNull();
  });

  it("leaves keys to an input method", () => {
    expect(composerKey(key("Enter", { isComposing: true }), false)).toBeNull();
    expect(composerKey(key("Enter", { keyCode: 229 }), false)).toBeNull();
    expect(composerKey(key("Escape", { isComposing: true }), true)).toBeNull();
  });
});

describe("a custom choice", () => {
  const declared = [CHIP.assistant, CHIP.user];

  it("may be any declared variants", () => {
    expect(customProblems(["user/structured"], declared)).toEqual([]);
    expect(customProblems(["assistant/content", "user/structured"], declared)).toEqual([]);
  });

  it("is refused with the rule's number", () => {
    expect(customProblems(["programmatic/structured"], declared).map((p) => p.rule)).toEqual(["H11"]);
    expect(customProblems(["user/structured", "user/structured"], declared).map((p) => p.rule)).toEqual(["H13"]);
    expect(customProblems([], declared).map((p) => p.rule)).toEqual(["H16"]);
  });
});

describe("a call in words", () => {
  it("says how far it is", () => {
    const say = (state: Parameters<typeof demoCall>[2]) => stateLook(demoCall(1, "t", state)).text;
    expect(say({ state: { kind: "running", progress: null } })).toBe("running");
    expect(say({ state: { kind: "running", progress: { done: 2, total: 5, message: null } } })).toBe("running, 40 %");
    expect(say({ state: { kind: "running", progress: { done: 7, total: null, message: null } } })).toBe("running, 7");
    expect(say({ elapsed_ms: 84 })).toBe("84 ms");
    expect(say({ state: { kind: "tool_error" }, elapsed_ms: 1200 })).toBe("the tool reports an error, 1.2 s");
    expect(say({ state: { kind: "refused" } })).toBe("refused by you");
  });

  it("never shows more progress than all of it, and none without a total", () => {
    const share = (done: number, total: number | null) =>
      progressShare(demoCall(1, "t", { state: { kind: "running", progress: { done, total, message: null } } }));
    expect([share(7, 5), share(-1, 5), share(1, 0), share(1, null)]).toEqual([1, 0, null, null]);
  });

  it("says what each consumer got", () => {
    const [, toUser] = searchCall(7).deliveries;
    expect(receivedBy(searchCall(7).deliveries).map((one) => one.text)).toEqual(["model 125 B", "you 6.4 kB"]);
    expect(deliveryHint(toUser!)).toBe("user / structured, as a table, 37 rows, fits its schema");
    expect(deliveryHint({ ...toUser!, chip: null, what: "content", door: "earlier revision", verdict: null })).toBe(
      "content, as a table, 37 rows, earlier revision",
    );
  });

  it("names a consumer once, with all that it got", () => {
    const [toModel, toUser] = searchCall(7).deliveries;
    const meta = { ...toUser!, chip: null, what: "_meta io.example/ui", bytes: 24, door: "goes with its output", verdict: null, how: "as JSON" };
    const [first, second, ...more] = receivedBy([{ ...meta, bytes: 1000 }, toModel!, { ...toUser!, bytes: 5000 }]);
    expect(first).toEqual({
      consumer: "user",
      chip: CHIP.user,
      text: "you 6.0 kB",
      hint: "1.0 kB: _meta io.example/ui, as JSON, goes with its output\n5.0 kB: user / structured, as a table, 37 rows, fits its schema",
    });
    expect([second?.consumer, more]).toEqual(["model", []]);
  });

  it("tells a defect once", () => {
    const call = searchCall(7);
    expect(otherDefects(call)).toEqual([]);
    expect(otherDefects({ ...call, withheld: [] })).toEqual(call.defects);
  });

  it("calls what a server says of itself a hint", () => {
    const tools = demoServers()[0]!.tools;
    expect(tools.slice(0, 3).map(serverHints)).toEqual([
      "it only reads",
      "it only reads",
      "it changes things and may destroy them",
    ]);
    expect(serverHints(null)).toBe("none");
  });
});

describe("a turn", () => {
  const user = (id: string): Item => item(id, 0, 0, { kind: "user", text: "?" });
  const call = (id: string): Item => item(id, 0, 0, { kind: "tool_call", call: searchCall(1) });
  const answer = (id: string, text: string, tokens: number | null): Item =>
    item(id, 0, 0, {
      kind: "assistant",
      text,
      state: { kind: "done" },
      model: "m",
      usage: tokens === null ? null : { prompt_tokens: tokens, answer_tokens: 1 },
    });
  const items = [user("u1"), answer("a1", "", 700), call("c1"), answer("a2", "37.", 800), user("u2"), answer("a3", "Hm", 900)];

  it("says what it cost once, at its last answer, and only when it is over", () => {
    const sum = (turn: Parameters<typeof turnUsage>[1]) => Object.fromEntries(turnUsage(items, turn));
    const first = { requests: 2, prompt_tokens: 1500, answer_tokens: 2 };
    expect(sum({ kind: "streaming" })).toEqual({ a2: first });
    expect(sum({ kind: "idle" })).toEqual({ a2: first, a3: { requests: 1, prompt_tokens: 900, answer_tokens: 1 } });
    expect(turnUsage([user("u"), answer("a", "x", null)], { kind: "idle" }).size).toBe(0);
  });

  it("has no entry for an answer that only calls tools", () => {
    expect(items.map((_, at) => isSilent(items, at))).toEqual([false, true, false, false, false, false]);
    expect(isSilent([user("u"), answer("a", "", 1)], 1)).toBe(false);
  });
});

describe("the list of conversations", () => {
  it("is grouped by the local day and filtered by title", () => {
    const noon = new Date(2026, 10, 30, 12).getTime();
    const all = demoConversations(noon).map((c) => c.summary);
    const titles = (filter: string) =>
      groupByDay(all, filter, noon).map((g) => [g.title, ...g.conversations.map((c) => c.title)]);
    expect(titles("")).toEqual([
      ["Today", "Globex accounts", "Sunrise pictures", "Deployment check"],
      ["Earlier", "Budget for Q1", "Wiki links"],
    ]);
    expect(titles(" BUDGET ")).toEqual([["Earlier", "Budget for Q1"]]);
    expect(titles("q1 budget")).toEqual([["Earlier", "Budget for Q1"]]);
    expect(titles("none")).toEqual([]);
  });
});

describe("a snippet", () => {
  const found = (snippet: string, query: string) => marked(snippet, query).filter((part) => part.found).map((part) => part.text);

  it("is cut where each word of the query stands, and never changed", () => {
    const parts = marked("Is a+b what A+B was?", "was a+b");
    expect(parts.filter((part) => part.found).map((part) => part.text)).toEqual(["a+b", "A+B", "was"]);
    expect(parts.map((part) => part.text).join("")).toBe("Is a+b what A+B was?");
    expect(marked("whole", " ")).toEqual([{ text: "whole", found: false }]);
  });

  it("is marked as far as the longest word goes", () => {
    expect(found("accounts", "acc accounts")).toEqual(["accounts"]);
  });
});

describe("a snippet in a narrow list", () => {
  const text = (snippet: string, query: string) => inSight(marked(snippet, query)).map((part) => part.text).join("");

  it("begins a few words before what was found", () => {
    expect(text("Here is what the tool told me: a sunrise over hills", "sunrise")).toBe("…tool told me: a sunrise over hills");
    expect(text("a sunrise over hills and water", "sunrise")).toBe("a sunrise over hills and water");
    expect(text("日".repeat(40) + "出", "出")).toBe(`…${"日".repeat(20)}出`);
    expect(text("nothing of it stands here at all", "x y")).toBe("nothing of it stands here at all");
  });
});

describe("what was found", () => {
  it("stands under its conversation, in the order in which it came", () => {
    const hit = (conversation_id: string, item_id: string) => ({ conversation_id, item_id, title: conversation_id, snippet: "" });
    const groups = byConversation([hit("c2", "1"), hit("c2", "4"), hit("c1", "2")]);
    expect(groups.map((group) => [group.title, ...group.hits.map((one) => one.item_id)])).toEqual([
      ["c2", "1", "4"],
      ["c1", "2"],
    ]);
  });
});
