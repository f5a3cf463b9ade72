/**
 * The tools that a View offers itself: listed when the View is ready or says that they changed, and called when Rust says so.
 * Deliberately absent: what is taken of the list, which calls may be made and what an answer is worth, which is all Rust's.
 */
import type { AppBridge } from "@modelcontextprotocol/ext-apps/app-bridge";
import { z } from "zod";
import type { ViewAnswer } from "../../bindings/ViewAnswer";
import type { BridgeLog } from "./bridge-log";

/** How long a View may take to list its tools, in milliseconds. */
const LIST_MS = 10_000;
/** How often it is asked at most, in milliseconds: a View may say as often as it likes that they changed. */
const LIST_PAUSE_MS = 1000;
/** Longer than Rust waits for an answer, so that Rust is the one to say that it did not come; in milliseconds. */
const CALL_MS = 60_000;

/** Checked in Rust, whatever it is. */
const ANYTHING = z.looseObject({});

/** What the tools of a View need from the outside. */
export interface OwnToolDoors {
  /** Hands a list to Rust. */
  offer: (listJson: string) => Promise<void>;
  /** Hands an answer to Rust. */
  answer: (call: number, answer: ViewAnswer) => void;
}

export class OwnTools {
  private readonly calls = new Map<number, AbortController>();
  private listing = false;
  /** Rust has a list of it. */
  private offered = false;
  private again = false;
  private closed = false;

  constructor(
    private readonly bridge: AppBridge,
    private readonly doors: OwnToolDoors,
    private readonly log: BridgeLog,
  ) {
    bridge.setNotificationHandler("notifications/tools/list_changed", () => void this.list());
  }

  /** Whether it was called and has not answered. */
  get isCalled(): boolean {
    return this.calls.size > 0;
  }

  /** Whether the View says that it offers tools at all. */
  private get offers(): boolean {
    return this.bridge.getAppCapabilities()?.tools !== undefined;
  }

  /** Asks the View for its tools. One that changes them meanwhile is asked once more, after a pause. */
  async list(): Promise<void> {
    if (this.closed) return;
    if (!this.offers) return this.takeBack();
    if (this.listing) {
      this.again = true;
      return;
    }
    this.listing = true;
    try {
      do {
        this.again = false;
        await this.listOnce();
        await new Promise((done) => setTimeout(done, LIST_PAUSE_MS));
      } while (this.again && !this.closed);
    } finally {
      this.listing = false;
    }
  }

  private async listOnce(): Promise<void> {
    try {
      const list = await this.bridge.request({ method: "tools/list", params: {} }, ANYTHING, { timeout: LIST_MS });
      if (this.closed) return;
      this.offered = true;
      await this.doors.offer(JSON.stringify(list));
    } catch (error) {
      this.log.add("stopped", "tools/list", 0, String(error));
    }
  }

  /** The View began anew and offers nothing now: what it offered before is nobody's. */
  private async takeBack(): Promise<void> {
    if (!this.offered) return;
    this.offered = false;
    await this.doors.offer('{"tools":[]}');
  }

  /** Calls a tool of the View, and hands on what it answers; an answer that came too late is nobody's. */
  async call(call: number, params: Record<string, unknown>): Promise<void> {
    const ended = new AbortController();
    this.calls.set(call, ended);
    let answer: ViewAnswer;
    try {
      const result = await this.bridge.request({ method: "tools/call", params }, ANYTHING, { signal: ended.signal, timeout: CALL_MS });
      answer = { kind: "result", json: JSON.stringify(result) };
    } catch (error) {
      answer = { kind: "error", code: codeOf(error), message: error instanceof Error ? error.message.slice(0, 1000) : "no answer", from_server: false };
    }
    if (this.calls.delete(call)) this.doors.answer(call, answer);
  }

  /** Nobody waits for a call any more; the View hears of it. */
  cancel(call: number): void {
    const ended = this.calls.get(call);
    this.calls.delete(call);
    ended?.abort("nobody waits for the answer");
  }

  /** The View begins anew, or ends: what it was asked is not answered. */
  drop(why: string): void {
    for (const [call, ended] of this.calls) {
      this.calls.delete(call);
      this.doors.answer(call, { kind: "error", code: -32000, message: why, from_server: false });
      ended.abort(why);
    }
  }

  end(): void {
    this.closed = true;
    this.drop("the View is being closed");
  }
}

function codeOf(error: unknown): number {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : null;
  return typeof code === "number" && Number.isInteger(code) && Math.abs(code) < 2 ** 31 ? code : -32603;
}
