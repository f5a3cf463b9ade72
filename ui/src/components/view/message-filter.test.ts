import { describe, expect, it } from "vitest";
import { BURST, measure, MESSAGE_CAP, MessageFilter, PER_SECOND, REFUSED_BURST, REFUSED_PER_SECOND } from "./message-filter";

const frame = { name: "frame" };
const elsewhere = { name: "another frame of the window" };
const ORIGIN = "mcpview://abc.localhost";
const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

function filter(): { judge: (change: object) => string; pass: (ms: number) => void } {
  let now = 0;
  const one = new MessageFilter(frame, ORIGIN, () => now);
  return {
    judge: (change) => {
      const arrival = { source: frame, origin: ORIGIN, data: ping, ...change };
      const verdict = one.judge(arrival, arrival.source === frame ? frame : elsewhere);
      return verdict.kind === "refused" ? verdict.why : verdict.kind;
    },
    pass: (ms) => (now += ms),
  };
}

describe("MessageFilter", () => {
  it("hears its own frame at exactly its own origin", () => {
    const { judge } = filter();
    expect(judge({})).toBe("let in");
    for (const source of [{ name: "frame" }, null]) expect(judge({ source, origin: "mcpview://other.localhost" })).toBe("foreign");
    for (const origin of ["mcpview://abc.localhost/", "mcpview://other.localhost", "mcpview://abc.localhost.evil", "null", ""]) {
      expect(judge({ origin })).toBe("not sent to its parent");
    }
  });

  it("hears nobody when the frame is gone or its origin is opaque", () => {
    const now = (): number => 0;
    expect(new MessageFilter(null, ORIGIN, now).judge({ source: null, origin: ORIGIN, data: ping }, null).kind).toBe("foreign");
    expect(new MessageFilter(frame, "null", now).judge({ source: frame, origin: "null", data: ping }, frame).kind).toBe("refused");
    // A frame inside a View that is gone: it may have been any View's.
    expect(new MessageFilter(frame, "null", now).judge({ source: {}, origin: "null", data: ping }, null).kind).toBe("foreign");
  });

  it("counts what is said past the parent, by whatever stands in the frame or has its origin, and reads none of it", () => {
    const unread = (source: unknown, origin: string) => ({
      source,
      origin,
      get data(): unknown {
        throw new Error("read");
      },
    });
    const inside = [
      [unread({ name: "its document" }, ORIGIN), frame],
      [unread({ name: "a frame without an origin in it" }, "null"), frame],
      [unread({ name: "a page that it was granted" }, "https://example.com"), frame],
      [unread({ name: "a frame of its own that is gone" }, ORIGIN), null],
    ] as const;
    for (const [arrival, within] of inside) {
      const one = new MessageFilter(frame, ORIGIN, () => 0);
      for (let count = 0; count < REFUSED_BURST; count += 1) one.judge(arrival, within);
      expect(one.isFlooded).toBe(false);
      expect(one.judge(arrival, within)).toMatchObject({ kind: "refused", why: "not sent to its parent" });
      expect(one.isFlooded).toBe(true);
      // Its own share is untouched.
      expect(one.judge({ source: frame, origin: ORIGIN, data: ping }, frame).kind).toBe("let in");
    }
  });

  it("drops giants without walking them", () => {
    const { judge } = filter();
    expect(judge({ data: { ...ping, params: { text: "x".repeat(MESSAGE_CAP) } } })).toBe("too large");
    expect(judge({ data: Array.from({ length: 1_000_000 }, () => "abcdef") })).toBe("too large");
  });

  it("drops what is no JSON", () => {
    const { judge } = filter();
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    for (const data of [new Map(), new Uint8Array(8), loop, 1n, { a: new Date(0) }]) expect(judge({ data })).toBe("not JSON");
  });

  it("lets a burst in, then a steady stream", () => {
    const { judge, pass } = filter();
    for (let count = 0; count < BURST; count += 1) expect(judge({})).toBe("let in");
    expect(judge({})).toBe("too many");
    pass(1000);
    for (let count = 0; count < PER_SECOND; count += 1) expect(judge({})).toBe("let in");
    expect(judge({})).toBe("too many");
  });

  it("sees a flood by what it had to refuse, and forgives one that ends", () => {
    let now = 0;
    const one = new MessageFilter(frame, ORIGIN, () => now);
    const send = (count: number): void => {
      for (let index = 0; index < count; index += 1) one.judge({ source: frame, origin: ORIGIN, data: ping }, frame);
    };
    send(BURST + REFUSED_BURST);
    expect(one.isFlooded).toBe(false);
    now += 1000;
    send(PER_SECOND + REFUSED_PER_SECOND - 1);
    expect(one.isFlooded).toBe(false);
    send(2);
    expect(one.isFlooded).toBe(true);
  });

  it("does not let a stranger spend the frame's share", () => {
    const { judge } = filter();
    for (let count = 0; count < BURST * 2; count += 1) judge({ source: elsewhere, origin: "https://evil.example" });
    expect(judge({})).toBe("let in");
  });
});

describe("measure", () => {
  it("is about the length of the JSON", () => {
    const value = { text: "x".repeat(1000), list: [1, 2, { deep: null }] };
    const size = measure(value, 1e6);
    expect(size).toBeGreaterThan(1000);
    expect(size).toBeLessThan(JSON.stringify(value).length + 40);
  });
});
