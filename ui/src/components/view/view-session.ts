/**
 * One View's life on its side of the boundary: the official bridge with a null client, so that every request goes to
 * Rust, which decides. It keeps the order that the Apps extension asks for: nothing before `initialized`, the tool's
 * input always and first, then its result or its cancellation.
 * Deliberately absent: any decision about what a View may have, and asking the user, which is Rust's too (X5).
 */
import { AppBridge, type McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import { z } from "zod";
import type { ViewAnswer } from "../../bindings/ViewAnswer";
import type { ViewLaunch } from "../../bindings/ViewLaunch";
import type { BridgeLog } from "./bridge-log";
import { offered, type Mode } from "./display.svelte";
import type { MessageSource } from "../../platform/messages";
import { FrameTransport, type FrameDoors, type FrameWindow } from "./frame-transport";
import { hostCapabilities } from "./host-context";
import { OwnTools, type OwnToolDoors } from "./own-tools";

/** How long a View may take to put its things away. */
const TEARDOWN_MS = 1000;

/** What a session needs from the outside. */
export interface SessionDoors extends OwnToolDoors, FrameDoors {
  /** Asks Rust on the View's behalf. The signal says that the View does not wait any more. */
  request: (method: string, paramsJson: string, signal: AbortSignal) => Promise<ViewAnswer>;
  /** Where messages arrive. */
  page: MessageSource;
  log: BridgeLog;
  /** Milliseconds. */
  now: () => number;
  /** The application's version. */
  version: string;
  /** The View is ready, perhaps not for the first time. It may be shown in these modes. */
  oninitialized: (modes: readonly Mode[]) => void;
  onsize: (height: number | undefined) => void;
  /** The View asks to be shown in a mode; the answer is the mode that it has then. */
  onmode: (wanted: Mode, modes: readonly Mode[]) => Mode;
  /** The View asks to be closed. */
  onleave: () => void;
  /** The milliseconds before each piece of the input that the launch has; each is told before the whole. */
  pace: number;
}

const RESULT = "ui/notifications/tool-result";
const CANCELLED = "ui/notifications/tool-cancelled";
const INPUT = "ui/notifications/tool-input";
const PARTIAL = "ui/notifications/tool-input-partial";
/** What Rust may say to a live View. Everything else is not sent on. */
const SENDABLE: ReadonlySet<string> = new Set([
  PARTIAL,
  INPUT,
  RESULT,
  CANCELLED,
  "notifications/progress",
  "notifications/tools/list_changed",
  "notifications/resources/list_changed",
  "notifications/prompts/list_changed",
]);

export class ViewSession {
  private readonly bridge: AppBridge;
  private readonly own: OwnTools;
  /** The View said `initialized` and has not begun anew since. Nothing is said to it before. */
  private initialized = false;
  /** How often it said so. */
  private rounds = 0;
  /** It was told the whole input; how the call ended comes after that. */
  private hasInput = false;
  private closed = false;
  /** The parameters of the input; none while a model writes it. */
  private input: Record<string, unknown> | null;
  /** The newest beginning of it, for a View that starts meanwhile. */
  private partial: Record<string, unknown> | null = null;
  /** What waits for `initialized`, after the input. */
  private waiting: Array<{ method: string; params: Record<string, unknown> }> = [];
  /** Surroundings that changed while it could not be told. */
  private context: McpUiHostContext | null = null;
  /** The last result or cancellation, for a View that starts over. */
  private outcome: { method: string; params: Record<string, unknown> } | null = null;

  constructor(
    private readonly launch: ViewLaunch,
    context: McpUiHostContext,
    private readonly doors: SessionDoors,
  ) {
    this.bridge = new AppBridge(null, { name: "Usher", version: doors.version }, hostCapabilities(launch.sandbox_capabilities_json, launch.can_sample, launch.takes_pictures), {
      hostContext: context,
    });
    this.own = new OwnTools(this.bridge, doors, doors.log);
    this.input = launch.input_json === null ? null : inputOf(launch.input_json);
    this.handlers();
    if (launch.result_json !== null) this.result(launch.result_json);
    if (launch.cancelled !== null) this.cancelled(launch.cancelled);
  }

  /** Whether it was called for a tool of its own and has not answered. */
  get isCalled(): boolean {
    return this.own.isCalled;
  }

  /** Listens to the frame. The frame's address is set only after this. */
  async connect(frame: FrameWindow): Promise<void> {
    const { page, log, now } = this.doors;
    const onhandshake = (): void => {
      this.initialized = false;
      this.own.drop("the View began anew");
    };
    await this.bridge.connect(new FrameTransport(frame, this.launch.origin, page, log, now, onhandshake, this.doors));
  }

  /** The tool's result, as JSON text of its parameters. */
  result(json: string): void {
    const params = paramsOf(json);
    if (params === null) this.doors.log.add("stopped", RESULT, json.length, "not an object");
    else this.hand(RESULT, params);
  }

  /** The call ended without a result. */
  cancelled(reason: string): void {
    this.hand(CANCELLED, { reason });
  }

  /** A message of Rust for this View: `{method, params}` of a notification. */
  message(json: string): void {
    const message = paramsOf(json);
    const method = typeof message?.["method"] === "string" ? message["method"] : "";
    const params = message?.["params"];
    if (this.isOfTool(message?.["id"], method, params)) return;
    if (!SENDABLE.has(method) || (params !== undefined && !isRecord(params))) {
      this.doors.log.add("stopped", method === "" ? "message" : method, json.length, "the window does not know this message");
      return;
    }
    this.hand(method, params ?? {});
  }

  /** Whether it is a call of a tool that the View offers itself, or the end of one; then it is on its way. */
  private isOfTool(id: unknown, method: string, params: unknown): boolean {
    if (method === "tools/call" && typeof id === "number" && isRecord(params)) {
      void this.own.call(id, params);
      return true;
    }
    const ended = method === "notifications/cancelled" && isRecord(params) ? params["requestId"] : undefined;
    if (typeof ended !== "number") return false;
    this.own.cancel(ended);
    return true;
  }

  /** Theme, size or language changed. Takes the whole context. */
  setContext(context: McpUiHostContext): void {
    if (this.closed) return;
    // The bridge would say so at once, also to a View that is not ready to hear it.
    if (!this.initialized) {
      this.context = context;
      return;
    }
    this.context = null;
    this.bridge.setHostContext(context);
  }

  /** Lets the View put its things away, waits a second at most, and ends the bridge. */
  async teardown(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.own.end();
    if (this.initialized) {
      // Most Views have no handler for it; their error says as well as an answer that they heard it.
      await this.bridge.teardownResource({}, { timeout: TEARDOWN_MS }).catch(() => undefined);
    }
    await this.bridge.close().catch(() => undefined);
  }

  private hand(method: string, params: Record<string, unknown>): void {
    if (method === PARTIAL || method === INPUT) {
      this.handInput(method, params);
      return;
    }
    const message = { method, params };
    if (method === RESULT || method === CANCELLED) {
      if (this.outcome !== null && !this.mayFollow(this.outcome, method, params)) return;
      this.outcome = message;
    }
    // A call that ends while its input is written has no input.
    const isDue = this.hasInput || message !== this.outcome || (method === CANCELLED && this.input === null);
    if (this.initialized && isDue) this.notify(method, params);
    // Of all else a View that is not ready has missed nothing: it has asked for no list and no call yet.
    else if (message === this.outcome) this.waiting = [message];
  }

  /** What a model writes: beginnings, and then the whole, once. */
  private handInput(method: string, params: Record<string, unknown>): void {
    if (this.input !== null || this.outcome !== null) return;
    if (method === PARTIAL) {
      this.partial = params;
      if (this.initialized) this.notify(PARTIAL, params);
      return;
    }
    this.input = params;
    if (this.initialized) this.tellInput(params);
  }

  /** A call ends once: with a result or a cancellation. Only a fresh result may follow a result. */
  private mayFollow(before: { method: string; params: unknown }, method: string, params: unknown): boolean {
    return before.method === RESULT && method === RESULT && JSON.stringify(before.params) !== JSON.stringify(params);
  }

  private notify(method: string, params: Record<string, unknown>): void {
    if (this.closed) return;
    void this.bridge.notification({ method, params }).catch((error: unknown) => {
      this.doors.log.add("stopped", method, 0, String(error));
    });
  }

  private start(): void {
    this.rounds += 1;
    this.initialized = true;
    this.hasInput = false;
    this.doors.oninitialized(this.modes());
    if (this.input !== null) void this.tellPieces(this.input, this.rounds);
    else this.tellUnfinished();
    void this.own.list();
  }

  /** What is there of an input that a model writes, or how that ended. */
  private tellUnfinished(): void {
    if (this.partial !== null) this.notify(PARTIAL, this.partial);
    if (this.outcome !== null) this.notify(this.outcome.method, this.outcome.params);
    this.waiting = [];
    this.tellContext();
  }

  /** The input as it would come while a model writes it. A View that begins anew meanwhile hears it from its beginning. */
  private async tellPieces(input: Record<string, unknown>, round: number): Promise<void> {
    const isOver = (): boolean => this.closed || !this.initialized || this.rounds !== round;
    const wait = (): Promise<void> => new Promise((done) => setTimeout(done, this.doors.pace));
    for (const piece of this.launch.pieces_json) {
      await wait();
      if (isOver()) return;
      this.notify(PARTIAL, inputOf(piece));
    }
    if (this.launch.pieces_json.length > 0) await wait();
    if (!isOver()) this.tellInput(input);
  }

  private tellInput(input: Record<string, unknown>): void {
    const again = this.rounds > 1;
    this.hasInput = true;
    this.notify(INPUT, input);
    const { outcome, waiting } = this;
    this.waiting = [];
    // A View that starts over in the same frame has forgotten what it was told.
    if (again && outcome !== null && !waiting.includes(outcome)) this.notify(outcome.method, outcome.params);
    for (const { method, params } of waiting) this.notify(method, params);
    this.tellContext();
  }

  /** Surroundings that changed before it could be told. */
  private tellContext(): void {
    if (this.context !== null) this.bridge.setHostContext(this.context);
    this.context = null;
  }

  private modes(): readonly Mode[] {
    return offered(this.bridge.getAppCapabilities()?.availableDisplayModes);
  }

  private handlers(): void {
    const { bridge } = this;
    bridge.addEventListener("initialized", () => {
      this.start();
    });
    bridge.addEventListener("sizechange", (params) => {
      this.doors.onsize(params.height);
    });
    bridge.addEventListener("requestteardown", () => {
      this.doors.onleave();
    });
    bridge.addEventListener("loggingmessage", (params) => {
      const text = typeof params.data === "string" ? params.data : JSON.stringify(params.data);
      this.doors.log.add("in", `log ${params.level}`, text.length, text.slice(0, 200));
    });
    bridge.onrequestdisplaymode = (params) => Promise.resolve({ mode: this.doors.onmode(params.mode, this.modes()) });
    bridge.oncalltool = (params, extra) => this.forward("tools/call", withMeta(params, extra.mcpReq._meta), extra.mcpReq.signal);
    bridge.onreadresource = (params, extra) => this.forward("resources/read", params, extra.mcpReq.signal);
    bridge.onlistresources = (params, extra) => this.forward("resources/list", params, extra.mcpReq.signal);
    bridge.onlistresourcetemplates = (params, extra) => this.forward("resources/templates/list", params, extra.mcpReq.signal);
    bridge.onlistprompts = (params, extra) => this.forward("prompts/list", params, extra.mcpReq.signal);
    bridge.onopenlink = (params, extra) => this.forward("ui/open-link", params, extra.mcpReq.signal);
    bridge.ondownloadfile = (params, extra) => this.forward("ui/download-file", params, extra.mcpReq.signal);
    if (this.launch.can_sample) {
      bridge.oncreatesamplingmessage = (params, extra) => this.forward("sampling/createMessage", params, extra.mcpReq.signal);
    }
    bridge.onmessage = (params, extra) => this.forward("ui/message", params, extra.mcpReq.signal);
    bridge.onupdatemodelcontext = (params, extra) => this.forward("ui/update-model-context", params, extra.mcpReq.signal);
    // The bridge has no setter for this one.
    const any = { params: z.looseObject({}).optional() };
    bridge.setRequestHandler("tools/list", any, (params, extra) => this.forward<Record<string, unknown>>("tools/list", params, extra.mcpReq.signal));
  }

  private async forward<T>(method: string, params: unknown, signal: AbortSignal): Promise<T> {
    const reply = await this.doors.request(method, JSON.stringify(params ?? {}), signal);
    switch (reply.kind) {
      case "result":
        return JSON.parse(reply.json) as T;
      case "error":
        throw error(reply.code, reply.message, reply.from_server);
    }
  }
}

/** The bridge takes `_meta` out of the parameters; in it is the token by which a View hears of progress. */
function withMeta(params: object, meta: unknown): object {
  return meta === undefined ? params : { ...params, _meta: meta };
}

/** An error that the bridge gives to the View with its code and its words. That of its own server says so. */
function error(code: number, message: string, fromServer: boolean): Error {
  return Object.assign(new Error(message), fromServer ? { code, data: { from: "server" } } : { code });
}

/** The tool's input, always `{arguments}`, whatever came. */
function inputOf(json: string): Record<string, unknown> {
  const input = paramsOf(json) ?? {};
  return { ...input, arguments: isRecord(input["arguments"]) ? input["arguments"] : {} };
}

function paramsOf(json: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
