import { configure, render, screen, waitFor } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Snapshot } from "../../bindings/Snapshot";
import type { ToolCallView } from "../../bindings/ToolCallView";
import type { UiBatch } from "../../bindings/UiBatch";
import type { ViewLaunch } from "../../bindings/ViewLaunch";
import { crowd, MOST_RUNNING, type Member } from "../../components/view/crowd";
import { MOST_WAIT_MS } from "../../components/view/view-life.svelte";
import { CALM_MS } from "../../components/view/display.svelte";
import type { Platform } from "../../platform/types";
import { Store } from "../../state/store.svelte";
import Stage from "./ViewStage.test.svelte";

// A busy machine may take seconds to load what is loaded on first use; the tests wait for it, and measure no time.
configure({ asyncUtilTimeout: 20_000 });
vi.setConfig({ testTimeout: 60_000 });

const ORIGIN = "mcpview://abc.localhost";

function call(view: ToolCallView["view"], state: ToolCallView["state"] = { kind: "done" }): ToolCallView {
  return {
    call_id: "c1",
    number: 1,
    server_id: "s",
    server_name: "Sample",
    tool: "refresh_dashboard",
    of_view: null,
    title: null,
    arguments_json: "{}",
    origin: "model",
    state,
    mode: "app",
    revision: "2026-12-01",
    requested: [],
    deliveries: [],
    withheld: [],
    defects: [],
    shown: [],
    view,
    elapsed_ms: 1,
  };
}

/** `whileOpening` is what the host does between `open_view` and its answer. */
function store(asked: string[], change: Partial<ViewLaunch> = {}, whileOpening: () => void = () => undefined, subscribe?: Platform["subscribe"], request?: () => Promise<unknown>): Store {
  const launch: ViewLaunch = {
    view_id: "v1",
    url: `${ORIGIN}/`,
    origin: ORIGIN,
    sandbox: "allow-scripts allow-same-origin allow-forms",
    allow: "clipboard-write",
    prefers_border: false,
    tool_json: '{"name":"refresh_dashboard","inputSchema":{"type":"object"}}',
    input_json: '{"arguments":{}}',
    pieces_json: [],
    result_json: '{"content":[]}',
    cancelled: null,
    sandbox_capabilities_json: "{}",
    wishes: [],
    rejected: [],
    server_name: "Sample",
    can_sample: false,
    takes_pictures: false,
    ...change,
  };
  const platform = {
    rpc: (cmd: string) => {
      asked.push(cmd);
      if (cmd === "view_request") return request?.() ?? Promise.resolve({ kind: "result", json: "{}" });
      if (cmd === "open_view") whileOpening();
      return Promise.resolve(cmd === "open_view" ? launch : null);
    },
    subscribe: subscribe ?? (() => new Promise(() => undefined)),
  } as unknown as Platform;
  return new Store(platform);
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const SLOT = { resource_uri: "ui://x", can_open: true, why_not: null, from_history: false, page_kept: true, refused: null };

describe("ViewFrame", () => {
  it("makes one frame with what Rust granted, and loads it after the bridge listens", async () => {
    const asked: string[] = [];
    const { rerender } = render(Stage, { store: store(asked), call: call(SLOT) });
    const frame = await screen.findByTestId<HTMLIFrameElement>("view-frame");
    expect(frame.getAttribute("sandbox")).toBe("allow-scripts allow-same-origin allow-forms");
    expect(frame.getAttribute("allow")).toBe("clipboard-write");
    expect(frame.getAttribute("referrerpolicy")).toBe("no-referrer");
    await waitFor(() => {
      expect(frame.getAttribute("src")).toBe(`${ORIGIN}/`);
    });
    // Every change of the call draws the card again; the frame must stay the very same.
    await rerender({ call: call({ ...SLOT }, { kind: "tool_error" }) });
    expect(screen.getByTestId("view-frame")).toBe(frame);
    expect(asked).toEqual(["open_view"]);
  });

  it("says of a View that did not start which of its messages went wrong first", async () => {
    const source = { postMessage: () => undefined } as unknown as Window;
    vi.spyOn(HTMLIFrameElement.prototype, "contentWindow", "get").mockReturnValue(source);
    vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 20 });
    render(Stage, { store: store([]), call: call(SLOT) });
    const frame = await screen.findByTestId("view-frame");
    await waitFor(() => expect(frame.getAttribute("src")).toBe(`${ORIGIN}/`));
    const data = { jsonrpc: "1.0", id: 1, method: "ui/initialize" };
    window.dispatchEvent(Object.assign(new Event("message"), { data, origin: ORIGIN, source }));
    await vi.advanceTimersByTimeAsync(8000);
    expect((await screen.findByTestId("view-late-protocol")).textContent).toBe("message: not a JSON-RPC message");
    expect(screen.getByTestId("view-late").textContent).not.toContain("It may wait for something");
    vi.useRealTimers();
  });

  it("waits for the user when the View is of an earlier run", async () => {
    const asked: string[] = [];
    render(Stage, { store: store(asked), call: call({ ...SLOT, from_history: true }) });
    expect(screen.getByTestId("view-placeholder").textContent).toContain("earlier session");
    expect(asked).toEqual([]);
    await userEvent.click(screen.getByRole("button", { name: "Replay" }));
    expect(await screen.findByTestId("view-frame")).toBeDefined();
  });

  it("says why it cannot be opened", () => {
    render(Stage, { store: store([]), call: call({ ...SLOT, can_open: false, why_not: "The page is too large." }) });
    expect(screen.getByTestId("view-placeholder").textContent).toContain("The page is too large.");
    expect(screen.queryByTestId("view-frame")).toBeNull();
  });

  it("waits for the user when the View was ended with its page", async () => {
    const asked: string[] = [];
    const why_not = "The window's page stopped answering while this View ran, and was loaded again.";
    render(Stage, { store: store(asked), call: call({ ...SLOT, why_not }) });
    expect(screen.getByTestId("view-placeholder").textContent).toContain(why_not);
    expect(asked).toEqual([]);
    await userEvent.click(screen.getByRole("button", { name: "Start again" }));
    expect(await screen.findByTestId("view-frame")).toBeDefined();
  });

  it("takes the frame away when it is stopped, and tells Rust", async () => {
    const asked: string[] = [];
    render(Stage, { store: store(asked), call: call(SLOT) });
    const frame = await screen.findByTestId<HTMLIFrameElement>("view-frame");
    await waitFor(() => {
      expect(frame.getAttribute("src")).not.toBeNull();
    });
    await userEvent.click(screen.getByRole("button", { name: "Stop the View" }));
    await waitFor(() => {
      expect(screen.queryByTestId("view-frame")).toBeNull();
    });
    expect(asked).toEqual(["open_view", "close_view"]);
  });

  /** Says something as the View would; jsdom does not load the frame's page. */
  function say(frame: HTMLIFrameElement, message: object): void {
    window.dispatchEvent(Object.assign(new Event("message"), { source: frame.contentWindow, origin: ORIGIN, data: { jsonrpc: "2.0", ...message } }));
  }

  async function speaking(asked: string[], host: Store = store(asked), heard: (message: unknown) => void = () => undefined, appCapabilities: object = {}): Promise<HTMLIFrameElement> {
    // A frame keeps its window when its address is set; jsdom gives it another one.
    let answered = false;
    const postMessage = (message: unknown): void => {
      answered = true;
      heard(message);
    };
    vi.spyOn(HTMLIFrameElement.prototype, "contentWindow", "get").mockReturnValue({ postMessage } as unknown as Window);
    render(Stage, { store: host, call: call(SLOT) });
    const frame = await screen.findByTestId<HTMLIFrameElement>("view-frame");
    await waitFor(() => expect(frame.getAttribute("src")).not.toBeNull());
    say(frame, { id: 1, method: "ui/initialize", params: { protocolVersion: "2026-01-26", appInfo: { name: "v", version: "1" }, appCapabilities } });
    // A View is ready when it has the answer.
    await waitFor(() => expect(answered).toBe(true));
    say(frame, { method: "ui/notifications/initialized", params: {} });
    return frame;
  }

  it.each(["before the host has answered", "before the frame listens"])("gives a View the result that came %s", async (when) => {
    let batch: (batch: UiBatch) => void = () => undefined;
    const message_json = JSON.stringify({ method: "ui/notifications/tool-result", params: { content: [{ type: "text", text: "late" }] } });
    const tell = () => batch({ first_seq: 1, events: [{ type: "view_message", view_id: "v1", message_json }] });
    const host = store(
      [],
      { result_json: null },
      when === "before the host has answered" ? tell : () => void Promise.resolve().then(() => Promise.resolve()).then(tell),
      (_since, onBatch) => {
        batch = onBatch;
        return Promise.resolve({ next_seq: 1, servers: [], conversations: [], settings: {}, notices: [] } as unknown as Snapshot);
      },
    );
    await host.start();
    const heard: unknown[] = [];
    await speaking([], host, (message) => heard.push(message));
    await waitFor(() =>
      expect(heard).toContainEqual({ jsonrpc: "2.0", method: "ui/notifications/tool-result", params: { content: [{ type: "text", text: "late" }] } }),
    );
  });

  it("shows what the View wants, lets the user change it, and starts again once its own question was answered", async () => {
    let batch: (batch: UiBatch) => void = () => undefined;
    const asked: string[] = [];
    const api = { kind: "connect" as const, what: "https://api.example.com" };
    const camera = { kind: "permission" as const, what: "camera" };
    const host = store(
      asked,
      {
        wishes: [
          { wish: api, state: "open" },
          { wish: camera, state: "refused" },
        ],
        rejected: [{ list: "connectDomains", entry: "http://ipc.localhost", why: "only https addresses are granted" }],
      },
      undefined,
      (_since, onBatch) => {
        batch = onBatch;
        return Promise.resolve({ next_seq: 1, servers: [], conversations: [], settings: {}, notices: [] } as unknown as Snapshot);
      },
    );
    await host.start();
    const told: unknown[] = [];
    const rpc = host.rpc.bind(host);
    vi.spyOn(host, "rpc").mockImplementation(async (cmd, payload) => {
      if (cmd === "set_view_access") told.push(payload);
      return rpc(cmd, payload);
    });
    render(Stage, { store: host, call: call(SLOT) });
    const chip = await screen.findByTestId("view-access-chip");
    expect(chip.textContent).toContain("asks for 1 domain, 1 feature");
    expect(chip.getAttribute("aria-label")).toBe("What Views of Sample may have: 0 of 2 allowed");
    await userEvent.click(chip);
    const list = await screen.findByTestId("view-access-list");
    expect(list.textContent).toContain("https://api.example.com");
    expect(list.textContent).toContain("The camera");
    expect(list.textContent).toContain("connectDomains: http://ipc.localhost");
    // It is placed by measures that jsdom does not have, and so counts as hidden here.
    await userEvent.click(screen.getByLabelText("Allow: The camera"));
    expect(told).toEqual([{ server_id: "s", wishes: [camera], allowed: true }]);
    const access = (first_seq: number, starts_again: boolean) =>
      batch({ first_seq, events: [{ type: "view_access_changed", view_id: "v1", wishes: [{ wish: api, state: "allowed" }, { wish: camera, state: "allowed" }], starts_again }] });
    access(1, false);
    expect(await screen.findByTestId("view-access-restart")).toBeDefined();
    expect(asked.filter((it) => it === "open_view").length).toBe(1);
    access(2, true);
    await waitFor(() => expect(asked.filter((it) => it === "open_view").length).toBe(2));
    // The new opening has its own, so it does not start again for ever.
    await screen.findByTestId("view-frame");
    expect(asked.filter((it) => it === "close_view").length).toBe(1);
  });

  it("takes the frame away when Rust ends the View, and says why until it is started again", async () => {
    const asked: string[] = [];
    let batch: (batch: UiBatch) => void = () => undefined;
    const host = store(asked, {}, () => undefined, (_since, onBatch) => {
      batch = onBatch;
      return Promise.resolve({ next_seq: 1, servers: [], conversations: [], settings: {}, notices: [] } as unknown as Snapshot);
    });
    await host.start();
    render(Stage, { store: host, call: call(SLOT) });
    const frame = await screen.findByTestId<HTMLIFrameElement>("view-frame");
    await waitFor(() => expect(frame.getAttribute("src")).not.toBeNull());
    screen.getByRole("button", { name: "Stop the View" }).focus();
    batch({ first_seq: 1, events: [{ type: "view_ended", view_id: "other", why: "Another." }, { type: "view_ended", view_id: "v1", why: "The camera was taken back." }] });
    await waitFor(() => expect(screen.queryByTestId("view-frame")).toBeNull());
    expect(screen.getByRole("alert").textContent).toBe("The camera was taken back.");
    // Whoever was in its bar goes on with what its place offers.
    const again = screen.getByRole("button", { name: "Start again" });
    await waitFor(() => expect(document.activeElement).toBe(again));
    await userEvent.click(again);
    expect(await screen.findByTestId("view-frame")).toBeDefined();
  });

  it("does not show a View that Rust ended while its opening was on the way", async () => {
    let batch: (batch: UiBatch) => void = () => undefined;
    const ends = () => batch({ first_seq: 1, events: [{ type: "view_ended", view_id: "v1", why: "It was taken back." }] });
    const host = store([], {}, ends, (_since, onBatch) => {
      batch = onBatch;
      return Promise.resolve({ next_seq: 1, servers: [], conversations: [], settings: {}, notices: [] } as unknown as Snapshot);
    });
    await host.start();
    render(Stage, { store: host, call: call(SLOT) });
    expect((await screen.findByRole("alert")).textContent).toBe("It was taken back.");
    expect(screen.queryByTestId("view-frame")).toBeNull();
  });

  it("leaves no View behind when it goes while it is being opened", async () => {
    const asked: string[] = [];
    const { unmount } = render(Stage, { store: store(asked), call: call(SLOT) });
    unmount();
    await waitFor(() => expect(asked).toEqual(["open_view", "close_view"]));
  });

  it("gives up in Rust what the View gives up, by the number of that request", async () => {
    const asked: unknown[] = [];
    const host = store([]);
    const rpc = host.rpc.bind(host);
    host.rpc = ((cmd: "view_request", args: never) => {
      if (["view_request", "cancel_view_request"].includes(cmd)) asked.push([cmd, args]);
      return cmd === "view_request" ? new Promise(() => undefined) : rpc(cmd, args);
    }) as Store["rpc"];
    const frame = await speaking([], host);
    for (const id of [7, 8]) say(frame, { id, method: "resources/read", params: { uri: `ui://x/${id}` } });
    await waitFor(() => expect(asked).toHaveLength(2));
    say(frame, { method: "notifications/cancelled", params: { requestId: 8 } });
    await waitFor(() => expect(asked).toHaveLength(3));
    expect(asked[1]).toMatchObject(["view_request", { view_id: "v1", request_id: 2, params_json: '{"uri":"ui://x/8"}' }]);
    expect(asked[2]).toEqual(["cancel_view_request", { view_id: "v1", request_id: 2 }]);
  });

  it("lets Rust ask the user, and says that nobody waits when the View is stopped", async () => {
    const asked: unknown[] = [];
    const host = store([]);
    const rpc = host.rpc.bind(host);
    host.rpc = ((cmd: "view_request", args: never) => {
      asked.push([cmd, args]);
      return cmd === "view_request" ? new Promise(() => undefined) : rpc(cmd, args);
    }) as Store["rpc"];
    const frame = await speaking([], host);
    say(frame, { id: 2, method: "ui/message", params: { role: "user", content: [{ type: "text", text: "hi" }] } });
    await waitFor(() => expect(asked.at(-1)).toMatchObject(["view_request", { view_id: "v1", request_id: 1, method: "ui/message" }]));
    expect(screen.queryByRole("dialog")).toBeNull();
    say(frame, { method: "ui/notifications/request-teardown", params: {} });
    await waitFor(() => expect(asked).toContainEqual(["cancel_view_request", { view_id: "v1", request_id: 1 }]));
    // One that is being closed asks the user nothing more.
    say(frame, { id: 3, method: "ui/open-link", params: { url: "https://example.com" } });
    await waitFor(() => expect(asked).toContainEqual(["close_view", { view_id: "v1" }]));
    expect(asked.filter((it) => (it as unknown[])[0] === "view_request")).toHaveLength(1);
  });

  const section = (): HTMLElement => screen.getByRole("region", { name: "View of Sample: refresh_dashboard" });
  type Heard = { id?: number; method?: string; params?: Record<string, unknown>; result?: unknown };

  it("shows the very same frame in the whole window and back, tells the View, and keeps the focus", async () => {
    vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(500);
    vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(300);
    const heard: Heard[] = [];
    const frame = await speaking([], undefined, (message) => heard.push(message as Heard));
    const told = () => heard.filter((it) => it.method === "ui/notifications/host-context-changed").map((it) => [it.params?.["displayMode"], it.params?.["containerDimensions"]]);
    const parent = frame.parentElement;
    await userEvent.click(await screen.findByRole("button", { name: "Show the View in the whole window" }));
    expect(section().dataset["mode"]).toBe("fullscreen");
    expect(screen.getByTestId("view-away").textContent).toContain("in the whole window");
    const back = screen.getByTestId("view-fullscreen");
    expect(back.textContent).toContain("Back to the conversation");
    await waitFor(() => expect(document.activeElement).toBe(back));
    await waitFor(() => expect(told()).toEqual([["fullscreen", { width: 500, height: 300 }]]));
    await userEvent.click(back);
    expect(section().dataset["mode"]).toBe("inline");
    await waitFor(() => expect(told().at(-1)).toEqual(["inline", { width: 500, maxHeight: 1200 }]));
    await waitFor(() => expect(document.activeElement).toBe(screen.getByTestId("view-fullscreen")));
    expect(screen.getByTestId("view-frame")).toBe(frame);
    expect(frame.parentElement).toBe(parent);
  });

  it("tells the View another language when it comes", async () => {
    vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(500);
    const heard: Heard[] = [];
    const asked: string[] = [];
    const host = store(asked);
    await speaking(asked, host, (message) => heard.push(message as Heard));
    await screen.findByTestId("view-pip");
    const told = () => heard.filter((it) => it.method === "ui/notifications/host-context-changed").map((it) => it.params);
    vi.spyOn(navigator, "language", "get").mockReturnValue("de-CH");
    window.dispatchEvent(new Event("languagechange"));
    await waitFor(() => expect(told()).toContainEqual(expect.objectContaining({ locale: "de-CH" })));
    expect(told()).toHaveLength(1);
  });

  it("gives a View the box that it asks for once its server is no longer quiet, which the arrow keys move and resize within the window", async () => {
    const heard: Heard[] = [];
    // In a test before, the user took a View of this server back.
    const now = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => now + CALM_MS);
    const frame = await speaking([], undefined, (message) => heard.push(message as Heard), { availableDisplayModes: ["inline", "pip"] });
    await screen.findByTestId("view-pip");
    expect(screen.queryByTestId("view-fullscreen"), "it is not offered what it did not declare").toBeNull();
    say(frame, { id: 7, method: "ui/request-display-mode", params: { mode: "fullscreen" } });
    say(frame, { id: 8, method: "ui/request-display-mode", params: { mode: "pip" } });
    await waitFor(() => expect(heard.filter((it) => it.result !== undefined && it.id !== 1)).toEqual([
      { jsonrpc: "2.0", id: 7, result: { mode: "inline" } },
      { jsonrpc: "2.0", id: 8, result: { mode: "pip" } },
    ]));
    await waitFor(() => expect(section().dataset["mode"]).toBe("pip"));
    const at = () => ["left", "top", "width", "height"].map((it) => Number.parseInt(section().style.getPropertyValue(it), 10));
    const [left = 0, top = 0, width = 0, height = 0] = at();
    screen.getByTestId("view-move").focus();
    await userEvent.keyboard("{ArrowLeft}{ArrowUp}{ArrowUp}");
    expect(at()).toEqual([left - 16, top - 32, width, height]);
    screen.getByTestId("view-resize").focus();
    await userEvent.keyboard("{ArrowLeft}{ArrowUp}");
    expect(at()).toEqual([left - 16, top - 32, width - 16, height - 16]);
    // A window that shrinks takes the box along, by what it has become and not by what it was.
    const wide = window.innerWidth;
    vi.stubGlobal("innerWidth", 600);
    window.dispatchEvent(new Event("resize"));
    await waitFor(() => expect((at()[0] ?? 0) + (at()[2] ?? 0)).toBeLessThanOrEqual(600));
    vi.stubGlobal("innerWidth", wide);
    window.dispatchEvent(new Event("resize"));
    await userEvent.click(screen.getByRole("button", { name: "Bring it back" }));
    expect(section().dataset["mode"]).toBe("inline");
    expect(screen.getByTestId("view-frame")).toBe(frame);
  });

  it("starts a View among many only when it is looked at, and brings it back after it rested", async () => {
    const sights: ((inSight: boolean) => void)[] = [];
    vi.stubGlobal(
      "IntersectionObserver",
      class {
        constructor(private readonly heard: (seen: object[]) => void) {}
        observe = () => sights.push((isIntersecting) => this.heard([{ isIntersecting }]));
        disconnect = () => undefined;
      },
    );
    const others = Array.from({ length: MOST_RUNNING }, () => crowd.join({ conversationId: "o", runs: () => true, mayRest: () => false, rest: () => Promise.resolve() }));
    const asked: string[] = [];
    render(Stage, { store: store(asked), call: call(SLOT) });
    expect((await screen.findByTestId("view-placeholder")).dataset["phase"]).toBe("resting");
    expect(asked).toEqual([]);
    sights.at(-1)?.(true);
    await screen.findByTestId("view-frame");
    sights.at(-1)?.(false);
    await crowd.leave("c");
    const placeholder = await screen.findByTestId("view-placeholder");
    expect([placeholder.dataset["phase"], asked]).toEqual(["resting", ["open_view", "close_view"]]);
    expect(placeholder.textContent).toContain("with the same input and result");
    sights.at(-1)?.(true);
    await screen.findByTestId("view-frame");
    expect(asked).toEqual(["open_view", "close_view", "open_view"]);
    for (const gone of others) gone();
  });

  it("rests though a request of it never ends, unless it was made just before or the user is asked", async () => {
    vi.stubGlobal(
      "IntersectionObserver",
      class {
        constructor(private readonly heard: (seen: object[]) => void) {}
        observe = () => this.heard([{ isIntersecting: true }]);
        disconnect = () => undefined;
      },
    );
    const members: Member[] = [];
    const join = vi.spyOn(crowd, "join").mockImplementation((it) => (members.push(it), () => undefined));
    const now = vi.spyOn(performance, "now").mockReturnValue(0);
    const asked: string[] = [];
    const frame = await speaking(asked, store(asked, {}, undefined, undefined, () => new Promise(() => undefined)));
    await screen.findByTestId("view-fullscreen");
    const mayRest = (since: number, at: number): boolean => members[0]!.mayRest(since, at);
    const ask = async (id: number, at: number, method = "tools/call"): Promise<void> => {
      now.mockReturnValue(at);
      const before = asked.filter((it) => it === "view_request").length;
      say(frame, { id, method, params: method === "tools/call" ? { name: "poll", arguments: {} } : { url: "https://a.example/" } });
      await waitFor(() => expect(asked.filter((it) => it === "view_request")).toHaveLength(before + 1));
    };
    expect(mayRest(1000, 12_000)).toBe(true);
    // It was asked for in sight, and may take a while.
    await ask(11, 1000);
    expect([mayRest(1000, 12_000), mayRest(1000, 1000 + MOST_WAIT_MS - 1), mayRest(1000, 1000 + MOST_WAIT_MS)]).toEqual([false, false, true]);
    // The next poll is made out of sight: nobody waits for it, however young it is.
    await ask(12, 70_000);
    expect(mayRest(1000, 70_001)).toBe(true);
    // A question to the user holds it for as long as it stands.
    await ask(13, 80_000, "ui/open-link");
    expect(mayRest(1000, 1_000_000)).toBe(false);
    join.mockRestore();
  });

  it("leaves the frame in the page until the View has put its things away", async () => {
    const heard: Heard[] = [];
    const asked: string[] = [];
    const frame = await speaking(asked, store(asked), (message) => heard.push(message as Heard));
    await screen.findByTestId("view-fullscreen");
    const left = crowd.leave("c");
    await waitFor(() => expect(heard.at(-1)?.method).toBe("ui/resource-teardown"));
    expect(frame.isConnected).toBe(true);
    expect(asked).toEqual(["open_view"]);
    say(frame, { id: heard.at(-1)?.id, result: {} });
    await left;
    await waitFor(() => expect(frame.isConnected).toBe(false));
    expect(asked).toEqual(["open_view", "close_view"]);
  });
});
