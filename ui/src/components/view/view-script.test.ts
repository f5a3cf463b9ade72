import { describe, expect, it, vi } from "vitest";
import SCRIPT from "../../../../src-tauri/src/desktop/view_script.js?raw";
import { BURST, PER_SECOND } from "./message-filter";
import { readPageSays, TELLS_CONSOLE } from "./page-says";

const VIEW = { protocol: "mcpview:", hostname: "abc.localhost", host: "abc.localhost" };
const KINDS = ["debug", "log", "info", "warn", "error"] as const;

/** A frame as an engine with WebRTC makes one, with the script run first in it. */
function realm(location: { protocol: string; hostname: string }, { isTop = false, name = "" } = {}) {
  const heard: Record<string, unknown>[] = [];
  const listeners: Record<string, ((event: object) => void)[]> = {};
  const printed: unknown[][] = [];
  const console = Object.fromEntries(KINDS.map((kind) => [kind, (...values: unknown[]) => void printed.push([kind, ...values])])) as Record<(typeof KINDS)[number], (...values: unknown[]) => void>;
  const self: Record<string, unknown> = {
    RTCPeerConnection: class {},
    webkitRTCPeerConnection: class {},
    RTCDataChannel: class {},
    WebTransport: class {},
    Worker: class {},
    name,
    console,
    addEventListener: (type: string, listener: (event: object) => void) => (listeners[type] ??= []).push(listener),
  };
  const clock = { ms: 0, now: () => clock.ms };
  const parent = isTop ? self : { postMessage: (message: Record<string, unknown>) => heard.push(structuredClone(message)) };
  new Function("self", "parent", "location", "performance", SCRIPT)(self, parent, location, clock);
  const fire = (type: string, event: object): void => listeners[type]?.forEach((one) => one({ isTrusted: true, target: self, ...event }));
  return {
    self, heard, console, printed, clock, fire,
    block: () => fire("securitypolicyviolation", { effectiveDirective: "connect-src", blockedURI: "https://a.example" }),
    /** The texts that were told, each of which the page can read. */
    said: () => heard.map((it) => readPageSays(it)?.text),
  };
}

const bench = () => realm(VIEW, { name: TELLS_CONSOLE });

describe("the script that runs first in every frame", () => {
  it.each([
    ["a View", VIEW],
    ["an empty frame that a View made", { protocol: "about:", hostname: "" }],
    ["a frame of a text or of a blob", { protocol: "blob:", hostname: "" }],
    ["a page that a View was granted", { protocol: "https:", hostname: "maps.example.com" }],
    ["the page itself", { protocol: "tauri:", hostname: "localhost" }],
  ])("leaves no way past the proxy in %s, also not by writing it back", (_, location) => {
    const { self } = realm(location);
    for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "WebTransport"]) {
      expect(self[name], name).toBeUndefined();
      expect(Reflect.set(self, name, class {}), name).toBe(false);
      expect(Reflect.deleteProperty(self, name), name).toBe(false);
    }
    expect(self["Worker"]).toBeDefined();
  });

  it("says in Views alone what the policy stopped, a hundred times at most", () => {
    const view = realm(VIEW);
    for (let count = 0; count < 150; count += 1) view.block();
    expect(view.heard).toHaveLength(100);
    expect(view.heard[0]).toEqual({ usher: "blocked", directive: "connect-src", uri: "https://a.example" });
    for (const other of [realm({ protocol: "https:", hostname: "maps.example.com" }), realm({ protocol: "about:", hostname: "" }), realm(VIEW, { isTop: true })]) {
      other.block();
      other.fire("error", { message: "no" });
      expect(other.heard).toEqual([]);
    }
  });
});

describe("what the script tells of a View's errors", () => {
  it("is the words, the place and the beginning of the stack", () => {
    const view = realm(VIEW);
    const error = new TypeError("no rows");
    error.stack = Array.from({ length: 40 }, (_, at) => `draw@mcpview://abc.localhost/:${at}:1`).join("\n");
    view.fire("error", { message: "TypeError: no rows", error, filename: "mcpview://abc.localhost/", lineno: 12, colno: 5 });
    const said = readPageSays(view.heard[0]);
    expect(said).toMatchObject({ kind: "uncaught", place: "the document, line 12, column 5" });
    expect(said?.text.split("\n")).toEqual(["TypeError: no rows", ...Array.from({ length: 6 }, (_, at) => `  draw@/:${at}:1`)]);
  });

  it("does not say the words twice where the engine's stack begins with them", () => {
    const view = realm(VIEW);
    const error = new Error("once");
    error.stack = "Error: once\n    at draw (a.js:1:2)";
    view.fire("unhandledrejection", { reason: error });
    expect(readPageSays(view.heard[0])).toEqual({ kind: "rejected", text: "Error: once\n  at draw (a.js:1:2)", place: "" });
  });

  it("is also what could not be loaded, with its address", () => {
    const view = realm(VIEW);
    view.fire("error", { target: { nodeType: 1, localName: "script", src: "https://cdn.example/app.js" } });
    view.fire("error", { target: { nodeType: 1, localName: "link", href: "https://cdn.example/app.css" } });
    expect(view.heard.map((it) => readPageSays(it))).toMatchObject([
      { kind: "unloaded", text: "<script> https://cdn.example/app.js" },
      { kind: "unloaded", text: "<link> https://cdn.example/app.css" },
    ]);
  });

  it("is not what a library of the View sends to itself", () => {
    const view = realm(VIEW);
    view.fire("error", { message: "pretended", isTrusted: false });
    expect(view.heard).toEqual([]);
  });

  it("does not depend on a loud console", () => {
    const view = bench();
    for (let count = 0; count < 5000; count += 1) view.console.log(count);
    view.fire("error", { message: "it ended" });
    expect(view.said().at(-1)).toBe("it ended");
  });
});

describe("what the script tells of a View's console", () => {
  it("is nothing where nobody reads it, and the console is the engine's own", () => {
    const view = realm(VIEW);
    const { log } = view.console;
    view.console.log("hello");
    expect([view.heard, view.printed, view.console.log]).toEqual([[], [["log", "hello"]], log]);
  });

  it("is each of its five ways, and the engine hears them too", () => {
    const view = bench();
    for (const kind of KINDS) view.console[kind]("it is", 1, { a: [true, null, "x"], b: undefined });
    expect(view.heard.map((it) => readPageSays(it))).toEqual(KINDS.map((kind) => ({ kind, text: 'it is 1 {"a":[true,null,"x"],"b":undefined}', place: "" })));
    expect(view.printed.map((it) => it[0])).toEqual(KINDS);
  });

  it("shows values of every kind", () => {
    const view = bench();
    const cycle: unknown[] = [1];
    cycle.push(cycle);
    view.console.log(Symbol("s"), 10n, undefined, null, function draw() {}, new Date(Number.NaN), new Map([[1, 2]]), {}, [], [, 1]);
    view.console.log(cycle);
    const error = new RangeError("far");
    error.stack = "";
    view.console.log("failed:", error);
    expect(view.said()).toEqual(["Symbol(s) 10 undefined null function draw Invalid Date [object Map] {} [] [null,1]", "[1,[1,[1,…]]]", "failed: RangeError: far"]);
  });

  it("looks at the first values of a large one, whatever holds them", () => {
    const view = bench();
    view.console.log(new Uint8Array(10_000_000), new DataView(new ArrayBuffer(8)));
    view.console.log(Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`k${at}`, at])));
    const [bytes, keys] = view.said();
    expect(bytes).toBe(`[${"0,".repeat(100)}…] [object DataView]`);
    expect(keys?.endsWith('"k98":98,"k99":99,…}')).toBe(true);
  });

  it("says once of each that more was left out", () => {
    const view = bench();
    for (let count = 0; count < 500; count += 1) view.console.log(count);
    for (let count = 0; count < 500; count += 1) view.fire("error", { message: "again" });
    expect(view.heard.filter((it) => readPageSays(it)?.kind === "more")).toHaveLength(2);
  });

  it("asks no getter, and survives whatever a value does when it is looked at", () => {
    const view = bench();
    const getter = vi.fn(() => "secret");
    view.console.log(Object.defineProperty({}, "x", { get: getter, enumerable: true }));
    expect(getter).not.toHaveBeenCalled();
    const fails = (): never => {
      throw new Error("gotcha");
    };
    const hostile = new Proxy({}, { ownKeys: fails, get: fails, getPrototypeOf: fails, getOwnPropertyDescriptor: fails });
    const loud = Object.create(null, { toString: { value: () => view.console.log("again") } }) as object;
    expect(() => view.console.log(hostile)).not.toThrow();
    expect(() => view.console.log(loud)).not.toThrow();
    view.fire("error", { error: new Proxy(new Error("x"), { get: fails }), message: "m" });
    expect(view.said()).toEqual(['{"x":…}', "(it cannot be read)", "undefined", "(it cannot be read)"]);
    expect(view.printed.length).toBe(4);
  });

  it("is cut, however large a value is", () => {
    const view = bench();
    const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`key ${at}`, "x".repeat(5000)]));
    for (const value of ["x".repeat(1_000_000), new Array(1_000_000).fill(7), wide]) view.console.log(value);
    expect(view.said().every((text) => text !== undefined && text.length <= 2000)).toBe(true);
    expect(view.said()[1]).toMatch(/^\[(7,){100}…\]$/);
  });

  it("leaves a View that logs in a loop most of its messages, and says once that more was left out", () => {
    const view = bench();
    const seconds = 10;
    for (let count = 0; count < seconds * 1000; count += 1) {
      view.console.log(count);
      view.clock.ms += 1;
    }
    expect(view.heard.filter((it) => it["kind"] === "more")).toHaveLength(1);
    expect(view.heard.length).toBeGreaterThan(100);
    expect(view.heard.length).toBeLessThan(BURST + (seconds * PER_SECOND) / 4);
    expect(view.printed).toHaveLength(seconds * 1000);
  });
});
