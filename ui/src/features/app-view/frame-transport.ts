/**
 * The transport between the official bridge and one frame. It takes the place of the package's own transport, which
 * compares the source of a message only: this one compares the exact origin too, and caps size and rate before parsing.
 */
import { parseJSONRPCMessage, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import type { BridgeLog } from "./bridge-log";
import { measure, MESSAGE_CAP, MessageFilter } from "./message-filter";

/** Where messages arrive. */
export interface MessageSource {
  addEventListener(type: "message", listener: (event: MessageEvent) => void): void;
  removeEventListener(type: "message", listener: (event: MessageEvent) => void): void;
}

/** A frame's window. */
export interface FrameWindow {
  postMessage(message: unknown, targetOrigin: string): void;
}

/** The server's error for a View that asks faster than it may. */
const TOO_MANY = { code: -32000, message: "Too many messages; slow down." };

export class FrameTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  private readonly filter: MessageFilter;
  private readonly listen = (event: MessageEvent): void => {
    this.receive(event);
  };

  constructor(
    private readonly frame: FrameWindow,
    origin: string,
    private readonly page: MessageSource,
    private readonly log: BridgeLog,
    now: () => number,
  ) {
    this.filter = new MessageFilter(frame, origin, now);
  }

  start(): Promise<void> {
    this.page.addEventListener("message", this.listen);
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    const bytes = measure(message, MESSAGE_CAP);
    this.log.add("out", nameOf(message), bytes === "not JSON" ? 0 : bytes, "error" in message ? message.error.message : "");
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

  private receive(event: MessageEvent): void {
    const verdict = this.filter.judge(event);
    if (verdict.kind === "foreign") return;
    if (verdict.kind === "refused") {
      this.log.add("stopped", verdict.why === "too many" ? "messages" : "message", verdict.bytes, verdict.why);
      if (verdict.why === "too many") this.refuse(event.data);
      return;
    }
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(mend(event.data));
    } catch {
      this.log.add("stopped", "message", verdict.bytes, "not a JSON-RPC message");
      return;
    }
    this.log.add("in", nameOf(message), verdict.bytes);
    this.onmessage?.(message);
  }

  /** A request that is not heard still gets an answer, so that the View does not wait for ever. */
  private refuse(data: unknown): void {
    if (typeof data !== "object" || data === null || !("id" in data) || !("method" in data)) return;
    if (typeof data.id !== "string" && typeof data.id !== "number") return;
    if (typeof data.id === "string" && data.id.length > 200) return;
    this.frame.postMessage({ jsonrpc: "2.0", id: data.id, error: TOO_MANY }, "*");
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

function nameOf(message: JSONRPCMessage): string {
  if ("method" in message) return message.method;
  return `answer ${String(message.id)}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
