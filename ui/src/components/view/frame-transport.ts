/**
 * The transport between the official bridge and one frame. It takes the place of the package's own transport, which
 * compares the source of a message only: this one compares the exact origin too, and caps size and rate before parsing.
 */
import { parseJSONRPCMessage, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import type { MessageListener, MessageSource } from "../../platform/messages";
import { Asked } from "./asked";
import { readBlocked } from "./blocked";
import type { BridgeLog } from "./bridge-log";
import { measure, MESSAGE_CAP, MessageFilter, type Refusal } from "./message-filter";
import { readPageSays, type PageSays } from "./page-says";

/** A frame's window. */
export interface FrameWindow {
  postMessage(message: unknown, targetOrigin: string): void;
}

/** What a frame says beside the messages of the protocol. All of it is untrusted. */
export interface FrameDoors {
  /** A script in the frame says that the View's policy stopped a request. */
  onblocked: (directive: string, uri: string) => void;
  /** The same script tells an error that nobody caught, or a line of the console. */
  onsays: (said: PageSays) => void;
  /** The View does nothing but flood. It is not heard any more. */
  onflood: () => void;
}

/** What a View is told whose request is not heard. */
const REFUSALS: Record<Exclude<Refusal, "not sent to its parent"> | "not a request", { code: number; message: string }> = {
  "too many": { code: -32000, message: "Too many messages; slow down." },
  "too large": { code: -32000, message: `The message is larger than ${MESSAGE_CAP} characters.` },
  "not JSON": { code: -32700, message: "The message is not JSON, or too deep." },
  "not a request": { code: -32600, message: "The message is not a JSON-RPC 2.0 request." },
};

/** Characters of the reason for which a request failed. */
const LONGEST_NOTE = 200;

export class FrameTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  private readonly filter: MessageFilter;
  /** What the View asks, and what it is asked. */
  private readonly theirs = new Asked();
  private readonly ours = new Asked();
  /** The last request to begin a handshake. */
  private handshake: string | number | undefined;
  private readonly listen: MessageListener = (event, within) => {
    this.receive(event, within);
  };

  constructor(
    private readonly frame: FrameWindow,
    origin: string,
    private readonly page: MessageSource,
    private readonly log: BridgeLog,
    now: () => number,
    /** The View begins its handshake with this answer, perhaps not for the first time. */
    private readonly onhandshake: () => void,
    private readonly doors: FrameDoors,
  ) {
    this.filter = new MessageFilter(frame, origin, now);
  }

  start(): Promise<void> {
    this.page.addEventListener("message", this.listen);
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    // A handshake that is refused changes nothing.
    if ("result" in message && message.id === this.handshake) this.onhandshake();
    const bytes = measure(message, MESSAGE_CAP);
    this.log.add("out", nameOf(message, this.ours, this.theirs), bytes === "not JSON" ? 0 : bytes, noteOf(message), message);
    // The address is not checked by the platform for a scheme of one's own. The frame cannot hold another page:
    // the window's content policy and its navigation rule admit the View's scheme only.
    this.frame.postMessage(message, "*");
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.page.removeEventListener("message", this.listen);
    this.onclose?.();
    return Promise.resolve();
  }

  private receive(event: MessageEvent, within: unknown): void {
    const verdict = this.filter.judge(event, within);
    if (verdict.kind === "foreign") return;
    if (verdict.kind === "refused") {
      // What was too much is not looked at, and what was not sent to its parent may be another frame's.
      const shown: unknown = verdict.why === "not JSON" ? event.data : undefined;
      this.log.add("stopped", verdict.why === "too many" ? "messages" : "message", verdict.bytes, verdict.why, shown);
      if (this.filter.isFlooded) {
        this.page.removeEventListener("message", this.listen);
        this.doors.onflood();
        return;
      }
      // An answer would go to the frame, which did not ask.
      if (verdict.why !== "not sent to its parent") {
        this.refuse(event.data, verdict.why);
        this.fail(event.data, verdict.why);
      }
      return;
    }
    const blocked = readBlocked(event.data);
    if (blocked !== null) {
      this.doors.onblocked(blocked.directive, blocked.uri);
      return;
    }
    const said = readPageSays(event.data);
    if (said !== null) {
      this.doors.onsays(said);
      return;
    }
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(mend(event.data));
    } catch {
      this.log.add("stopped", "message", verdict.bytes, "not a JSON-RPC message", event.data);
      this.refuse(event.data, "not a request");
      return;
    }
    this.log.add("in", nameOf(message, this.theirs, this.ours), verdict.bytes, noteOf(message), message);
    if ("method" in message && message.method === "ui/initialize" && "id" in message) this.handshake = message.id;
    this.onmessage?.(message);
  }

  /** Whoever waits for an answer that is not heard is told so at once. */
  private fail(data: unknown, why: keyof typeof REFUSALS): void {
    if (typeof data !== "object" || data === null || "method" in data || !("id" in data) || typeof data.id !== "number") return;
    this.onmessage?.({ jsonrpc: "2.0", id: data.id, error: REFUSALS[why] });
  }

  /** A request that is not heard still gets an answer, so that the View does not wait for ever. */
  private refuse(data: unknown, why: keyof typeof REFUSALS): void {
    if (typeof data !== "object" || data === null || !("id" in data) || !("method" in data)) return;
    if (typeof data.id !== "string" && typeof data.id !== "number") return;
    if (typeof data.id === "string" && data.id.length > 200) return;
    this.frame.postMessage({ jsonrpc: "2.0", id: data.id, error: REFUSALS[why] }, "*");
  }
}

/**
 * Mends two slips of hand-written Views that the official schema refuses: `ui/initialize` without a protocol
 * version, and `ui/message` whose content is one block instead of a list.
 */
export function mend(data: unknown): unknown {
  if (!isRecord(data) || typeof data["method"] !== "string") return data;
  const params = isRecord(data["params"]) ? data["params"] : {};
  if (data["method"] === "ui/initialize" && typeof params["protocolVersion"] !== "string") {
    const plain = { appInfo: { name: "View", version: "0" }, appCapabilities: {} };
    return { ...data, params: { ...plain, ...params, protocolVersion: "2026-01-26" } };
  }
  if (data["method"] === "ui/message" && isRecord(params["content"])) {
    return { ...data, params: { ...params, content: [params["content"]] } };
  }
  return data;
}

/** What a message is called; an answer by what was asked on the other side. */
function nameOf(message: JSONRPCMessage, asks: Asked, answers: Asked): string {
  if (!("method" in message)) return answers.answered(message.id);
  if ("id" in message) asks.note(message.id, message.method);
  return message.method;
}

/** How a request failed. */
function noteOf(message: JSONRPCMessage): string {
  return "error" in message ? message.error.message.slice(0, LONGEST_NOTE) : "";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
