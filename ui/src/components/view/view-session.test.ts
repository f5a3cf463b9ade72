import { describe, expect, it, vi } from "vitest";
import type { ViewAnswer } from "../../bindings/ViewAnswer";
import type { ViewLaunch } from "../../bindings/ViewLaunch";
import { BridgeLog } from "./bridge-log";
import { BURST, REFUSED_BURST } from "./message-filter";
import type { MessageListener, MessageSource } from "../../platform/messages";
import type { Mode } from "./display.svelte";
import { hostContext } from "./host-context";
import type { PageSays } from "./page-says";
import { ViewSession } from "./view-session";

const ORIGIN = "mcpview://abc.localhost";
const AROUND = { theme: "light", read: () => "red", place: { mode: "inline", width: 500, height: 240 }, locale: "en", timeZone: "UTC", touch: false, hover: true, version: "1" } as const;
const LAUNCH: ViewLaunch = {
  view_id: "v1",
  url: `${ORIGIN}/`,
  origin: ORIGIN,
  sandbox: "allow-scripts allow-same-origin allow-forms",
  allow: "",
  prefers_border: true,
  tool_json: '{"name":"refresh","inputSchema":{"type":"object"}}',
  input_json: '{"arguments":{"id":7}}',
  pieces_json: [],
  result_json: '{"content":[],"structuredContent":{"n":1}}',
  cancelled: null,
  sandbox_capabilities_json: '{"permissions":{},"csp":{}}',
  wishes: [],
  rejected: [],
  server_name: "Sample",
  can_sample: false,
  takes_pictures: false,
};

type Wire = { id?: number; method?: string; params?: Record<string, unknown>; result?: unknown; error?: { code: number; message: string } };

/** A View by hand: it sends what the test says, and keeps what it gets. */
class ByHand {
  readonly got: Wire[] = [];
  readonly asked: Array<[string, string]> = [];
  readonly signals: AbortSignal[] = [];
  readonly offers: string[] = [];
  readonly answers: Array<[number, ViewAnswer]> = [];
  readonly log: BridgeLog;
  initialized = 0;
  floods = 0;
  heights: Array<number | undefined> = [];
  readonly blocked: Array<[string, string]> = [];
  readonly said: PageSays[] = [];
  modes: readonly Mode[] = [];
  mode: Mode = "inline";
  answer: ViewAnswer = { kind: "result", json: "{}" };
  readonly session: ViewSession;
  private listeners: MessageListener[] = [];
  private readonly frame = { postMessage: (message: unknown) => void this.got.push(structuredClone(message) as Wire) };

  constructor(launch: Partial<ViewLaunch> = {}, keepsValues = false) {
    this.log = new BridgeLog(() => 0, () => undefined, keepsValues);
    const page: MessageSource = {
      addEventListener: (_, listener) => void this.listeners.push(listener),
      removeEventListener: (_, listener) => (this.listeners = this.listeners.filter((one) => one !== listener)),
    };
    this.session = new ViewSession({ ...LAUNCH, ...launch }, hostContext({ ...AROUND, toolJson: LAUNCH.tool_json }), {
      request: (method, paramsJson, signal) => {
        this.asked.push([method, paramsJson]);
        this.signals.push(signal);
        return Promise.resolve(this.answer);
      },
      offer: (listJson) => Promise.resolve(void this.offers.push(listJson)),
      answer: (call, answer) => void this.answers.push([call, answer]),
      page,
      log: this.log,
      now: () => 0,
      version: "1",
      oninitialized: (modes) => {
        this.initialized += 1;
        this.modes = modes;
      },
      onsize: (height) => this.heights.push(height),
      onblocked: (directive, uri) => this.blocked.push([directive, uri]),
      onsays: (said) => this.said.push(said),
      onmode: (wanted, modes) => (modes.includes(wanted) ? (this.mode = wanted) : this.mode),
      onleave: () => undefined,
      onflood: () => (this.floods += 1),
      pace: 1,
    });
  }

  get listening(): number {
    return this.listeners.length;
  }

  async connect(): Promise<this> {
    await this.session.connect(this.frame);
    return this;
  }

  async send(message: object, from: { origin?: string; source?: unknown } = {}): Promise<void> {
    const event = { source: this.frame, origin: ORIGIN, data: { jsonrpc: "2.0", ...message }, ...from } as unknown as MessageEvent;
    for (const listener of this.listeners) listener(event, event.source === this.frame ? this.frame : {});
    await settle();
  }

  async initialize(appCapabilities: object = {}): Promise<void> {
    await this.send({
      id: 1,
      method: "ui/initialize",
      params: { protocolVersion: "2026-01-26", appInfo: { name: "hand", version: "1" }, appCapabilities },
    });
    await this.send({ method: "ui/notifications/initialized", params: {} });
  }

  methods(): string[] {
    return this.got.map((message) => message.method ?? `answer ${message.id}`);
  }
}

const settle = (): Promise<void> => new Promise((done) => setTimeout(done));
const INPUT = "ui/notifications/tool-input";
const PARTIAL = "ui/notifications/tool-input-partial";
const RESULT = "ui/notifications/tool-result";
const CANCELLED = "ui/notifications/tool-cancelled";

describe("the order of a View's first messages", () => {
  it("takes what the frame says of its policy for that alone, from its own frame only", async () => {
    const view = await new ByHand().connect();
    const said = { usher: "blocked", directive: "connect-src", uri: "https://a.example/x" };
    await view.send(said);
    await view.send(said, { origin: "https://evil.example" });
    await view.send({ usher: "blocked", directive: "connect-src", uri: "x".repeat(501) });
    expect(view.blocked).toEqual([["connect-src", "https://a.example/x"]]);
    expect([view.asked, view.got]).toEqual([[], []]);
    expect(view.log.list().map((it) => it.note)).toEqual(["not sent to its parent", "not a JSON-RPC message"]);
  });

  it("takes what the page says for that alone, from its own frame only, and counts it among the View's messages", async () => {
    const view = await new ByHand().connect();
    const says = { usher: "says", kind: "uncaught", text: "Error: no", file: "/", line: 3, column: 7 };
    await view.send(says);
    await view.send(says, { origin: "https://evil.example" });
    await view.send({ ...says, kind: "constructor" });
    expect(view.said).toEqual([{ kind: "uncaught", text: "Error: no", place: "the document, line 3, column 7" }]);
    expect([view.asked, view.got]).toEqual([[], []]);
    for (let count = 0; count < BURST + 10; count += 1) await view.send(says);
    expect(view.said.length).toBe(BURST - 1);
    expect(view.log.list().at(-1)).toMatchObject({ direction: "stopped", note: "too many" });
  });

  it("says nothing before initialized, then the input, then the result", async () => {
    const view = await new ByHand().connect();
    await settle();
    expect(view.got).toEqual([]);
    await view.send({ id: 1, method: "ui/initialize", params: { protocolVersion: "2026-01-26", appInfo: { name: "v", version: "1" }, appCapabilities: {} } });
    expect(view.methods()).toEqual(["answer 1"]);
    await view.send({ method: "ui/notifications/initialized", params: {} });
    expect(view.methods()).toEqual(["answer 1", INPUT, RESULT]);
    expect(view.got[1]?.params).toEqual({ arguments: { id: 7 } });
    expect(view.got[2]?.params).toEqual({ content: [], structuredContent: { n: 1 } });
    expect(view.initialized).toBe(1);
  });

  it("holds a result that comes early, and sends the input even without arguments", async () => {
    const view = await new ByHand({ input_json: "{}", result_json: null }).connect();
    view.session.message('{"method":"ui/notifications/tool-result","params":{"content":[]}}');
    expect(view.got).toEqual([]);
    await view.initialize();
    expect(view.methods().slice(1)).toEqual([INPUT, RESULT]);
    expect(view.got[1]?.params).toEqual({ arguments: {} });
  });

  it("sends a result that comes later", async () => {
    const view = await new ByHand({ result_json: null }).connect();
    await view.initialize();
    expect(view.methods().slice(1)).toEqual([INPUT]);
    view.session.result('{"content":[],"isError":true}');
    view.session.message('{"method":"ui/notifications/tool-result","params":{"content":[], "isError":true}}');
    view.session.cancelled("too late");
    await settle();
    expect(view.methods().slice(1)).toEqual([INPUT, RESULT]);
    view.session.message('{"method":"ui/notifications/tool-result","params":{"content":[],"structuredContent":{"fresh":1}}}');
    await settle();
    expect(view.methods().slice(1)).toEqual([INPUT, RESULT, RESULT]);
  });

  it("sends a result or a cancellation, not both", async () => {
    const cancelled = await new ByHand({ result_json: null }).connect();
    cancelled.session.cancelled("the user stopped it");
    cancelled.session.result('{"content":[]}');
    await cancelled.initialize();
    expect(cancelled.methods().slice(1)).toEqual([INPUT, CANCELLED]);
    const settled = await new ByHand().connect();
    settled.session.cancelled("too late");
    settled.session.message('{"method":"ui/notifications/tool-cancelled","params":{}}');
    await settled.initialize();
    expect(settled.methods().slice(1)).toEqual([INPUT, RESULT]);
  });

  it("tells beginnings of the input first, the whole after them, and how the call ended last", async () => {
    const pieces_json = ['{"arguments":{}}', '{"arguments":{"id":7}}'];
    const view = await new ByHand({ result_json: null, pieces_json }).connect();
    await view.initialize();
    view.session.result('{"content":[]}');
    while (view.methods().at(-1) !== RESULT) await settle();
    expect(view.methods().slice(1)).toEqual([PARTIAL, PARTIAL, INPUT, RESULT]);
    expect(view.got.slice(1, 3).map((it) => it.params)).toEqual([{ arguments: {} }, { arguments: { id: 7 } }]);
    // One that begins anew in the midst of them hears them once, from the first.
    const restless = await new ByHand({ pieces_json }).connect();
    await restless.initialize();
    await restless.initialize();
    while (restless.methods().at(-1) !== RESULT) await settle();
    const after = restless.methods().slice(restless.methods().lastIndexOf("answer 1") + 1);
    expect(after).toEqual([PARTIAL, PARTIAL, INPUT, RESULT]);
  });

  describe("of a call whose input a model writes", () => {
    const piece = (id: string): string => JSON.stringify({ method: PARTIAL, params: { arguments: { id } } });
    const whole = JSON.stringify({ method: INPUT, params: { arguments: { id: "all" } } });

    it("tells the beginnings as they come, the input once, and then how the call ended", async () => {
      const view = await new ByHand({ input_json: null, result_json: null }).connect();
      await view.initialize();
      expect(view.methods().slice(1)).toEqual([]);
      view.session.message(piece("a"));
      view.session.message(piece("al"));
      view.session.message(whole);
      view.session.message(whole);
      view.session.message(piece("late"));
      view.session.result('{"content":[]}');
      await settle();
      expect(view.methods().slice(1)).toEqual([PARTIAL, PARTIAL, INPUT, RESULT]);
      expect(view.got[3]?.params).toEqual({ arguments: { id: "all" } });
    });

    it("tells one that starts meanwhile the newest beginning, and one that begins anew what it forgot", async () => {
      const view = await new ByHand({ input_json: null, result_json: null }).connect();
      view.session.message(piece("a"));
      view.session.message(piece("al"));
      await view.initialize();
      expect(view.got.slice(1).map((it) => it.params)).toEqual([{ arguments: { id: "al" } }]);
      view.session.message(whole);
      await settle();
      await view.initialize();
      expect(view.methods().slice(view.methods().lastIndexOf("answer 1") + 1)).toEqual([INPUT]);
    });

    it("tells the surroundings of now, whatever the View missed while it started", async () => {
      const CHANGED = "ui/notifications/host-context-changed";
      const dark = hostContext({ ...AROUND, theme: "dark", toolJson: LAUNCH.tool_json });
      const light = hostContext({ ...AROUND, toolJson: LAUNCH.tool_json });
      const view = await new ByHand({ input_json: null, result_json: null }).connect();
      view.session.setContext(dark);
      await view.initialize();
      expect(view.got.at(-1)).toMatchObject({ method: CHANGED, params: { theme: "dark" } });
      view.session.setContext(light);
      view.session.message(whole);
      await settle();
      expect(view.got.filter((it) => it.method === CHANGED).map((it) => (it.params as { theme: string }).theme)).toEqual(["dark", "light"]);
    });

    it("tells that none comes, whenever the View starts", async () => {
      const cut = JSON.stringify({ method: "ui/notifications/tool-cancelled", params: { reason: "The call failed." } });
      for (const early of [true, false]) {
        const view = await new ByHand({ input_json: null, result_json: null }).connect();
        if (!early) await view.initialize();
        view.session.message(piece("a"));
        view.session.message(cut);
        view.session.message(whole);
        if (early) await view.initialize();
        await settle();
        expect(view.methods().slice(1)).toEqual([PARTIAL, "ui/notifications/tool-cancelled"]);
      }
    });
  });

  it("tells of other surroundings only when the View is ready to hear it", async () => {
    const CHANGED = "ui/notifications/host-context-changed";
    const dark = hostContext({ ...AROUND, theme: "dark", toolJson: LAUNCH.tool_json });
    const view = await new ByHand().connect();
    view.session.setContext(dark);
    await settle();
    expect(view.got).toEqual([]);
    await view.initialize();
    expect(view.methods().slice(1)).toEqual([INPUT, RESULT, CHANGED]);
    expect(view.got[3]?.params).toMatchObject({ theme: "dark" });
    view.session.setContext(hostContext({ ...AROUND, toolJson: LAUNCH.tool_json }));
    await settle();
    expect(view.methods().slice(4)).toEqual([CHANGED]);
  });

  it("says nothing between a second handshake and its end", async () => {
    const view = await new ByHand({ result_json: null }).connect();
    await view.initialize();
    await view.send({ id: 2, method: "ui/initialize", params: { protocolVersion: "2026-01-26", appInfo: { name: "v", version: "1" }, appCapabilities: {} } });
    view.session.result('{"content":[]}');
    view.session.setContext(hostContext({ ...AROUND, theme: "dark", toolJson: LAUNCH.tool_json }));
    await settle();
    expect(view.methods()).toEqual(["answer 1", INPUT, "answer 2"]);
    await view.send({ method: "ui/notifications/initialized", params: {} });
    expect(view.methods().slice(3)).toEqual([INPUT, RESULT, "ui/notifications/host-context-changed"]);
  });

  it("lets Rust know what the View gave up, and passes on by which token it hears of progress", async () => {
    const view = await new ByHand().connect();
    await view.initialize();
    view.answer = new Promise(() => undefined) as never;
    await view.send({ id: 5, method: "tools/call", params: { name: "slow", arguments: {}, _meta: { progressToken: 5 } } });
    expect(view.asked).toEqual([["tools/call", '{"_meta":{"progressToken":5},"name":"slow","arguments":{}}']]);
    expect(view.signals[0]?.aborted).toBe(false);
    await view.send({ method: "notifications/cancelled", params: { requestId: 5, reason: "timeout" } });
    expect(view.signals[0]?.aborted).toBe(true);
    view.session.message('{"method":"notifications/progress","params":{"progressToken":5,"progress":1}}');
    await settle();
    expect(view.got.at(-1)).toMatchObject({ method: "notifications/progress", params: { progressToken: 5, progress: 1 } });
  });

  it("tells a View at once that no result comes, when that is known", async () => {
    const view = await new ByHand({ result_json: null, cancelled: "The call failed." }).connect();
    await view.initialize();
    expect(view.methods().slice(1)).toEqual([INPUT, CANCELLED]);
    expect(view.got[2]?.params).toEqual({ reason: "The call failed." });
  });

  it("answers a request that it does not hear", async () => {
    const view = await new ByHand().connect();
    await view.initialize();
    await view.send({ id: 7, method: "tools/call", params: { name: "refresh", arguments: { text: "x".repeat(4_000_001) } } });
    await view.send({ id: 8, method: "tools/call", params: { when: new Map() } });
    await view.send({ id: 9, method: "tools/call", params: 7 });
    const answers = view.got.filter((message) => message.error !== undefined);
    expect(answers.map((message) => [message.id, message.error?.code])).toEqual([[7, -32000], [8, -32700], [9, -32600]]);
    expect(view.asked).toEqual([]);
  });

  it("tells a View that starts over everything again", async () => {
    const view = await new ByHand().connect();
    await view.initialize();
    await view.initialize();
    expect(view.methods()).toEqual(["answer 1", INPUT, RESULT, "answer 1", INPUT, RESULT]);
  });
});

describe("what crosses the boundary", () => {
  it("hears nothing from another window or another origin", async () => {
    const view = await new ByHand().connect();
    await view.send({ id: 5, method: "tools/call", params: { name: "x" } }, { origin: "https://evil.example" });
    await view.send({ id: 5, method: "tools/call", params: { name: "x" } }, { source: {} });
    await view.send({ id: 5, method: "tools/call", params: { name: "x" } }, { origin: "null" });
    expect(view.asked).toEqual([]);
    expect(view.got).toEqual([]);
    // It is counted as the View's, whose frame or origin it came from.
    expect(view.log.list()).toMatchObject([{ direction: "stopped", note: "not sent to its parent", times: 3 }]);
    await view.send({ id: 5, method: "tools/call", params: { name: "x" } }, { origin: "https://evil.example", source: {} });
    expect(view.log.list()).toHaveLength(1);
    expect(view.log.list()[0]?.times).toBe(3);
  });

  it("asks Rust for everything and gives its answer on", async () => {
    const view = await new ByHand().connect();
    await view.initialize();
    view.answer = { kind: "result", json: '{"content":[],"structuredContent":{"ok":true}}' };
    await view.send({ id: 2, method: "tools/call", params: { name: "refresh", arguments: { page: 2 } } });
    await view.send({ id: 3, method: "tools/list" });
    await view.send({ id: 4, method: "ui/open-link", params: { url: "https://example.com" } });
    expect(view.asked).toEqual([
      ["tools/call", '{"name":"refresh","arguments":{"page":2}}'],
      ["tools/list", "{}"],
      ["ui/open-link", '{"url":"https://example.com"}'],
    ]);
    expect(view.got.find((message) => message.id === 2)?.result).toEqual({ content: [], structuredContent: { ok: true } });
  });

  it("keeps the code and the words of a refusal", async () => {
    const view = await new ByHand().connect();
    await view.initialize();
    view.answer = { kind: "error", code: -32602, message: "This tool is not for Views.", from_server: false };
    await view.send({ id: 9, method: "tools/call", params: { name: "secret" } });
    expect(view.got.at(-1)?.error).toEqual({ code: -32602, message: "This tool is not for Views." });
    // That of its own server can be told from the host's.
    view.answer = { kind: "error", code: -32099, message: "no such region", from_server: true };
    await view.send({ id: 10, method: "tools/call", params: { name: "broken" } });
    expect(view.got.at(-1)?.error).toEqual({ code: -32099, message: "no such region", data: { from: "server" } });
  });

  it("has no answer for what it does not advertise", async () => {
    const view = await new ByHand().connect();
    await view.initialize();
    await view.send({ id: 20, method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } });
    expect(view.got.at(-1)?.error?.code).toBe(-32601);
    expect(view.asked).toEqual([]);
  });

  it("lets a View ask the model where the user lets its server", async () => {
    const view = await new ByHand({ can_sample: true }).connect();
    await view.initialize();
    expect(view.got[0]?.result).toMatchObject({ hostCapabilities: { sampling: {} } });
    const params = { messages: [{ role: "user", content: { type: "text", text: "Sum it up" } }], maxTokens: 9 };
    view.answer = { kind: "result", json: '{"role":"assistant","content":{"type":"text","text":"7"},"model":"m"}' };
    await view.send({ id: 20, method: "sampling/createMessage", params });
    expect(view.asked.map(([method, json]) => [method, JSON.parse(json)])).toEqual([["sampling/createMessage", params]]);
    expect(view.got.at(-1)?.result).toMatchObject({ content: { text: "7" } });
  });

  it("says whether pictures reach the model that is chosen", async () => {
    for (const takes_pictures of [true, false]) {
      const view = await new ByHand({ takes_pictures }).connect();
      await view.initialize();
      const { hostCapabilities } = view.got[0]?.result as { hostCapabilities: Record<string, object> };
      for (const way of ["message", "updateModelContext"]) expect("image" in (hostCapabilities[way] ?? {})).toBe(takes_pictures);
    }
  });

  it("mends the two usual slips of hand-written Views", async () => {
    const view = await new ByHand().connect();
    await view.send({ id: 1, method: "ui/initialize", params: {} });
    expect(view.got[0]?.error).toBeUndefined();
    await view.send({ id: 2, method: "ui/message", params: { role: "user", content: { type: "text", text: "hi" } } });
    expect(view.asked).toEqual([["ui/message", '{"role":"user","content":[{"type":"text","text":"hi"}]}']]);
  });

  it("writes what is no message of the protocol as an error with what was sent, and refusals as errors", async () => {
    const view = await new ByHand({}, true).connect();
    await view.send({ jsonrpc: "1.0", id: 4, method: "ui/initialize" });
    await view.send({ held: new Map([["k", 1]]) });
    await view.send({ id: 5, method: "ui/initialize", params: { appInfo: 7 } });
    expect(view.log.list().filter((it) => it.direction !== "in")).toMatchObject([
      { direction: "stopped", note: "not a JSON-RPC message", level: "error", value: '{"jsonrpc":"1.0","id":4,"method":"ui/initialize"}' },
      { direction: "stopped", note: "not JSON", level: "error", value: '{"jsonrpc":"2.0","held":"[object Map]"}' },
      { direction: "out", method: "answer 5 to ui/initialize", level: "error" },
    ]);
  });

  it("sends nothing on that Rust did not mean for a View", async () => {
    const view = await new ByHand().connect();
    await view.initialize();
    const before = view.got.length;
    for (const method of ["ui/resource-teardown", "tools/call", "sampling", ""]) view.session.message(JSON.stringify({ method, params: {} }));
    view.session.message("not JSON");
    await settle();
    expect(view.got).toHaveLength(before);
    const stopped = view.log.list().filter((entry) => entry.direction === "stopped");
    // The last two have no name, and like ones are counted.
    expect(stopped.map((entry) => entry.method)).toEqual(["ui/resource-teardown", "tools/call", "sampling", "message"]);
    expect(stopped.at(-1)?.times).toBe(2);
  });

  it("logs every message with its direction and size, but not its values", async () => {
    const view = await new ByHand({ result_json: '{"content":[],"structuredContent":{"secret":"CANARY"}}' }).connect();
    await view.initialize();
    const log = view.log.list();
    expect(log.map((entry) => `${entry.direction} ${entry.method}`)).toEqual([
      "in ui/initialize",
      "out answer 1 to ui/initialize",
      "in ui/notifications/initialized",
      `out ${INPUT}`,
      `out ${RESULT}`,
    ]);
    expect(log.every((entry) => entry.bytes > 0)).toBe(true);
    expect(JSON.stringify(log)).not.toContain("CANARY");
  });
});

describe("what needs the user", () => {
  const say = { id: 5, method: "ui/message", params: { role: "user", content: [{ type: "text", text: "Buy it" }, { type: "image", data: "QUJD", mimeType: "image/png" }] } };

  it("goes to Rust whole and as it came, and is not answered before Rust answers", async () => {
    const view = await new ByHand().connect();
    await view.initialize();
    let answer: (answer: ViewAnswer) => void = () => undefined;
    view.answer = new Promise<ViewAnswer>((done) => (answer = done)) as never;
    await view.send(say);
    expect(view.asked.map(([method, params]) => [method, JSON.parse(params)])).toEqual([["ui/message", say.params]]);
    expect(view.methods()).not.toContain("answer 5");
    answer({ kind: "result", json: '{"_meta":{"leftOut":"1 picture"}}' });
    await settle();
    expect(view.got.at(-1)).toMatchObject({ id: 5, result: { _meta: { leftOut: "1 picture" } } });
  });

  it("is refused in the way that the extension has for it", async () => {
    const view = await new ByHand().connect();
    await view.initialize();
    view.answer = { kind: "result", json: '{"isError":true}' };
    await view.send(say);
    await view.send({ id: 6, method: "ui/open-link", params: { url: "https://example.com" } });
    expect(view.got.slice(-2).map((it) => it.result)).toEqual([{ isError: true }, { isError: true }]);
    view.answer = { kind: "error", code: -32000, message: "the user did not allow it", from_server: false };
    await view.send({ id: 7, method: "ui/update-model-context", params: { structuredContent: { id: 7 } } });
    expect(view.got.at(-1)?.error).toMatchObject({ code: -32000, message: "the user did not allow it" });
  });

  it("is given up when the View gives it up", async () => {
    const view = await new ByHand().connect();
    await view.initialize();
    view.answer = new Promise(() => undefined) as never;
    await view.send({ id: 5, method: "ui/open-link", params: { url: "https://example.com" } });
    await view.send({ method: "notifications/cancelled", params: { requestId: 5 } });
    expect(view.signals[0]?.aborted).toBe(true);
  });
});

describe("the end", () => {
  it("asks the View to put its things away and takes an error for a yes", async () => {
    const view = await new ByHand().connect();
    await view.initialize();
    const done = view.session.teardown();
    await settle();
    const asked = view.got.at(-1);
    expect(asked?.method).toBe("ui/resource-teardown");
    await view.send({ id: asked?.id, error: { code: -32601, message: "Method not found" } });
    await done;
    expect(view.listening).toBe(0);
  });

  it("does not hear a View any more that does nothing but flood, and says so once", async () => {
    const view = await new ByHand().connect();
    const answers = view.got.length;
    const sent = Array.from({ length: 2 * (BURST + REFUSED_BURST) }, (_, id) => view.send({ id, method: "ping" }));
    await Promise.all(sent);
    expect(view.floods).toBe(1);
    expect(view.listening).toBe(0);
    expect(view.got.length - answers).toBeLessThanOrEqual(BURST + REFUSED_BURST);
  });

  it("does not wait for a View that never started", async () => {
    const view = await new ByHand().connect();
    await view.session.teardown();
    expect(view.got).toEqual([]);
    expect(view.listening).toBe(0);
  });
});

describe("where a View is shown", () => {
  it.each([
    ["nothing", {}, "fullscreen", "fullscreen"],
    ["the mode", { availableDisplayModes: ["inline", "fullscreen"] }, "fullscreen", "fullscreen"],
    ["another mode", { availableDisplayModes: ["inline", "fullscreen"] }, "pip", "inline"],
    ["no mode at all", { availableDisplayModes: [] }, "pip", "inline"],
  ])("answers with the mode that it has then, when the View declared %s", async (_, declared, wanted, given) => {
    const view = await new ByHand().connect();
    await view.initialize(declared);
    await view.send({ id: 2, method: "ui/request-display-mode", params: { mode: wanted } });
    expect(view.got.at(-1)).toEqual({ jsonrpc: "2.0", id: 2, result: { mode: given } });
    expect(view.mode).toBe(given);
  });

  it("hands on the modes that the View declared", async () => {
    const view = await new ByHand().connect();
    await view.initialize({ availableDisplayModes: ["pip"] });
    expect(view.modes).toEqual(["inline", "pip"]);
  });
});

describe("the tools that a View offers itself", () => {
  const TOOLS = { tools: [{ name: "set_color", inputSchema: { type: "object" } }, { odd: true }] };
  const CALL = { id: 7, method: "tools/call", params: { name: "set_color", arguments: { color: "red" } } };

  async function offering(): Promise<ByHand> {
    const view = await new ByHand().connect();
    await view.initialize({ tools: { listChanged: true } });
    return view;
  }
  const last = (view: ByHand, method: string): Wire => {
    const found = view.got.findLast((it) => it.method === method);
    if (found === undefined) throw new Error(`the View was not sent ${method}`);
    return found;
  };

  it("are asked for after the input, and only of a View that says it has some", async () => {
    const silent = await new ByHand().connect();
    await silent.initialize();
    await silent.send({ method: "notifications/tools/list_changed" });
    expect(silent.methods()).not.toContain("tools/list");
    const view = await offering();
    expect(view.methods()).toEqual(["answer 1", INPUT, RESULT, "tools/list"]);
    // As they came: what is taken is said by Rust.
    await view.send({ id: last(view, "tools/list").id, result: TOOLS });
    expect(view.offers.map((it) => JSON.parse(it) as unknown)).toEqual([TOOLS]);
  });

  it("are nobody's when the View begins anew without them", async () => {
    const view = await offering();
    await view.send({ id: last(view, "tools/list").id, result: TOOLS });
    await view.initialize();
    expect(view.offers.slice(1)).toEqual(['{"tools":[]}']);
    // It is said once.
    await view.initialize();
    expect(view.offers).toHaveLength(2);
  });

  it("are asked for again when they changed, but not as often as it is said", async () => {
    vi.useFakeTimers();
    try {
      const settled = (): Promise<unknown> => vi.advanceTimersByTimeAsync(1);
      const view = await new ByHand().connect();
      const begun = view.initialize({ tools: {} });
      await settled();
      await settled();
      await begun;
      const lists = (): number => view.methods().filter((it) => it === "tools/list").length;
      expect(lists()).toBe(1);
      const answered = view.send({ id: last(view, "tools/list").id, result: TOOLS });
      await settled();
      await answered;
      for (let n = 0; n < 50; n += 1) void view.send({ method: "notifications/tools/list_changed" });
      await settled();
      expect(lists()).toBe(1);
      await vi.advanceTimersByTimeAsync(1100);
      expect(lists()).toBe(2);
      await vi.advanceTimersByTimeAsync(20_000);
      expect(lists()).toBe(2);
    } finally {
      vi.useRealTimers();
    }
  });

  it("are called when Rust says so, and the answer is that of this call", async () => {
    const view = await offering();
    view.session.message(JSON.stringify(CALL));
    await settle();
    const sent = last(view, "tools/call");
    expect(sent.params).toMatchObject({ name: "set_color", arguments: { color: "red" } });
    // Answers to what nobody asked are nobody's.
    await view.send({ id: 4711, result: { content: [] } });
    expect(view.answers).toEqual([]);
    await view.send({ id: sent.id, result: { content: [{ type: "text", text: "done" }], extra: 1 } });
    expect(view.answers).toEqual([[7, { kind: "result", json: '{"content":[{"type":"text","text":"done"}],"extra":1}' }]]);
    await view.send({ id: sent.id, result: { content: [] } });
    expect(view.answers.length).toBe(1);
  });

  it("answer with an error, and another View cannot answer for them", async () => {
    const [view, other] = [await offering(), await offering()];
    view.session.message(JSON.stringify(CALL));
    await settle();
    const { id } = last(view, "tools/call");
    await other.send({ id, result: { content: [{ type: "text", text: "forged" }] } });
    expect([view.answers, other.answers]).toEqual([[], []]);
    await view.send({ id, error: { code: -32050, message: "no such colour" } });
    expect(view.answers).toEqual([[7, { kind: "error", code: -32050, message: expect.stringContaining("no such colour") as string, from_server: false }]]);
  });

  it("are not waited for once the call is given up, and a late answer is nobody's", async () => {
    const view = await offering();
    view.session.message(JSON.stringify(CALL));
    await settle();
    const { id } = last(view, "tools/call");
    expect(view.session.isCalled).toBe(true);
    view.session.message('{"method":"notifications/cancelled","params":{"requestId":7}}');
    await settle();
    expect(last(view, "notifications/cancelled").params).toMatchObject({ requestId: id });
    await view.send({ id, result: { content: [] } });
    expect([view.answers, view.session.isCalled]).toEqual([[], false]);
  });

  it("fail at once when the answer is too large to be heard, when the View begins anew and when it is closed", async () => {
    const view = await offering();
    const begin = async (call: number): Promise<number> => {
      view.session.message(JSON.stringify({ ...CALL, id: call }));
      await settle();
      return last(view, "tools/call").id ?? -1;
    };
    await view.send({ id: await begin(1), result: { content: [{ type: "text", text: "x".repeat(4_000_001) }] } });
    expect(view.answers.at(-1)).toEqual([1, { kind: "error", code: -32000, message: expect.stringContaining("larger") as string, from_server: false }]);
    await begin(2);
    await view.initialize({ tools: {} });
    expect(view.answers.at(-1)).toEqual([2, { kind: "error", code: -32000, message: "the View began anew", from_server: false }]);
    await begin(3);
    const gone = view.session.teardown();
    expect(view.answers.at(-1)).toEqual([3, { kind: "error", code: -32000, message: "the View is being closed", from_server: false }]);
    await view.send({ id: last(view, "ui/resource-teardown").id, result: {} });
    await gone;
    expect(view.answers.length).toBe(3);
  });
});
