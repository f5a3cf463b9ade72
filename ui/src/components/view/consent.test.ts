import { describe, expect, it } from "vitest";
import { Desk, isClearing, visible, wordsOf, type Question, type Seat } from "./consent";

/** A desk with a clock, and what each View's place shows. */
class Room {
  time = 10_000;
  readonly desk = new Desk(() => this.time);
  readonly shown: string[] = [];

  sit(name: string): Seat {
    return this.desk.seat((question) => this.shown.push(question === null ? `${name} -` : `${name} ${textOf(question)}`));
  }

  /** Answers after the user has had time to look. */
  answer(seat: Seat, choice: "once" | "view" | "refuse"): void {
    this.time += 500;
    seat.answer(choice);
  }
}

const textOf = (question: Question): string => (question.kind === "link" ? question.address : question.text);
const message = (text: string): Question => ({ kind: "message", text });
const context = (text: string): Question => ({ kind: "context", text });
const link = (address: string): Question => ({ kind: "link", address });
/** What is known of an answer by now. */
async function now(answer: Promise<boolean>): Promise<boolean | "waits"> {
  return Promise.race([answer, new Promise<"waits">((done) => setTimeout(() => done("waits")))]);
}

describe("a message", () => {
  it("is asked about each time", async () => {
    const room = new Room();
    const seat = room.sit("a");
    const first = seat.ask(message("one"));
    expect(await now(first)).toBe("waits");
    room.answer(seat, "once");
    expect(await first).toBe(true);
    const second = seat.ask(message("two"));
    expect(await now(second)).toBe("waits");
    expect(room.shown).toEqual(["a one", "a -", "a two"]);
  });

  it("is not asked about any more when it is allowed for the View, and only for it", async () => {
    const room = new Room();
    const [a, b] = [room.sit("a"), room.sit("b")];
    const first = a.ask(message("one"));
    const waiting = a.ask(message("two"));
    room.answer(a, "view");
    expect([await first, await waiting, await a.ask(message("three"))]).toEqual([true, true, true]);
    expect(room.shown).toEqual(["a one", "a -"]);
    expect(await now(a.ask(context("kept")))).toBe("waits");
    expect(await now(b.ask(message("other")))).toBe("waits");
  });
});

describe("what a View keeps", () => {
  it("is asked about once, whatever the answer", async () => {
    const room = new Room();
    const [a, b] = [room.sit("a"), room.sit("b")];
    const first = a.ask(context("one"));
    room.answer(a, "once");
    expect([await first, await a.ask(context("two"))]).toEqual([true, true]);
    const other = b.ask(context("one"));
    room.answer(b, "refuse");
    room.time += 60_000;
    expect([await other, await b.ask(context("two"))]).toEqual([false, false]);
    expect(await now(b.ask(message("still asked")))).toBe("waits");
  });
});

describe("a link", () => {
  it("never stands for another one", async () => {
    const room = new Room();
    const seat = room.sit("a");
    const first = seat.ask(link("https://a.example/"));
    room.answer(seat, "view");
    expect(await first).toBe(true);
    expect(await now(seat.ask(link("https://a.example/")))).toBe("waits");
  });
});

describe("a View that spams", () => {
  it("gets one dialog, three places in the line, and one refusal for all", async () => {
    const room = new Room();
    const seat = room.sit("a");
    const answers = Array.from({ length: 500 }, (_, i) => seat.ask(message(String(i))));
    expect(room.shown).toEqual(["a 0"]);
    expect(await Promise.all(answers.slice(4))).toEqual(Array.from({ length: 496 }, () => false));
    expect(await now(answers[3]!)).toBe("waits");
    room.answer(seat, "refuse");
    expect(await Promise.all(answers.slice(0, 4))).toEqual([false, false, false, false]);
    expect(room.shown).toEqual(["a 0", "a -"]);
  });

  it("is refused without a dialog within a second of a refusal, whatever it asks for", async () => {
    const room = new Room();
    const seat = room.sit("a");
    void seat.ask(message("one"));
    room.answer(seat, "refuse");
    room.time += 999;
    expect(await seat.ask(message("two"))).toBe(false);
    expect(await seat.ask(link("https://a.example/"))).toBe(false);
    expect(room.shown).toEqual(["a one", "a -"]);
    room.time += 1;
    expect(await now(seat.ask(message("three")))).toBe("waits");
  });

  it("does not take the place of another View, nor its answer", async () => {
    const room = new Room();
    const [a, b] = [room.sit("a"), room.sit("b")];
    for (let i = 0; i < 100; i += 1) void a.ask(message(String(i)));
    const other = b.ask(message("mine"));
    expect(room.shown).toEqual(["a 0"]);
    b.answer("once");
    expect(await now(other)).toBe("waits");
    room.answer(a, "refuse");
    expect(room.shown).toEqual(["a 0", "a -", "b mine"]);
    room.answer(b, "once");
    expect(await other).toBe(true);
  });
});

describe("a question", () => {
  it("cannot be agreed to before it could be read, but can be refused", async () => {
    const room = new Room();
    const seat = room.sit("a");
    const first = seat.ask(message("one"));
    const second = seat.ask(message("two"));
    room.time += 299;
    seat.answer("view");
    expect(await now(first)).toBe("waits");
    room.time += 1;
    seat.answer("once");
    // A second click of the same hand falls on the next question.
    seat.answer("once");
    expect([await first, await now(second)]).toEqual([true, "waits"]);
    seat.answer("refuse");
    expect(await second).toBe(false);
  });

  it("goes when the View gives up or is gone", async () => {
    const room = new Room();
    const seat = room.sit("a");
    const giveUp = new AbortController();
    const first = seat.ask(message("one"), giveUp.signal);
    const second = seat.ask(message("two"));
    giveUp.abort();
    expect(await first).toBe(false);
    expect(room.shown).toEqual(["a one", "a two"]);
    seat.close();
    expect([await second, await seat.ask(message("three"))]).toEqual([false, false]);
    expect(room.shown.at(-1)).toBe("a -");
    expect(await seat.ask(message("late"), AbortSignal.abort())).toBe(false);
  });
});

describe("the words", () => {
  it("are the text blocks and the structured value, and nothing else", () => {
    const content = [{ type: "text", text: "a" }, { type: "resource", resource: { text: "no" } }, { type: "text", text: 7 }, null, { type: "text", text: "b" }];
    expect(wordsOf({ content, structuredContent: { n: 1 } })).toBe('a\nb\n{"n":1}');
    expect([wordsOf({}), wordsOf(null), wordsOf({ content: "x" })]).toEqual(["", "", ""]);
  });

  it("are taken back by nothing at all, not by a picture", () => {
    expect([isClearing({}), isClearing({ content: [] })]).toEqual([true, true]);
    expect([isClearing({ content: [{ type: "image" }] }), isClearing({ structuredContent: {} }), isClearing(null)]).toEqual([false, false, false]);
  });

  it("hide nothing", () => {
    const shown = (text: string): string => visible(text).map((piece) => (piece.hidden ? `<${piece.text}>` : piece.text)).join("");
    expect(shown("a\u202eb\u200bc\u{e0041}\r\n\td é 北 😀")).toBe("a<U+202E>b<U+200B>c<U+E0041><U+000D>\n\td é 北 😀");
    expect(shown("<U+202E>")).toBe("<U+202E>");
    expect(visible("")).toEqual([]);
  });
});
