/**
 * What may come in from a View's frame. Everything here runs before a message is parsed, and costs no more than the cap.
 * Deliberately absent: what a message means. That is the bridge's, and what it may do is decided in Rust.
 */

/** Characters of a message, keys included; larger ones are dropped. */
export const MESSAGE_CAP = 4_000_000;
/** Messages that may come at once, and how many more each second. A View that polls as fast as it can makes thousands. */
export const BURST = 300;
export const PER_SECOND = 120;
/**
 * Refused messages that may come at once, and how many more each second. A View that goes beyond is stopped. What its document or a
 * frame inside it says to the window past its parent is refused, and counted.
 */
export const REFUSED_BURST = 5000;
export const REFUSED_PER_SECOND = 500;
/** Deeper values are refused: no message of the protocol is nested so far. */
const DEPTH_CAP = 64;

/** The part of a message event that the filter looks at. */
export interface Arrival {
  source: unknown;
  origin: string;
  /** Read only when the source is heard. */
  readonly data: unknown;
}

/** Why a message was not let in. */
export type Refusal = "too large" | "too many" | "not JSON" | "not sent to its parent";

/** What becomes of a message: let in, refused, or not this frame's at all. */
export type Verdict = { kind: "let in"; bytes: number } | { kind: "refused"; why: Refusal; bytes: number } | { kind: "foreign" };

/** The filter of one frame. `now` gives milliseconds. */
export class MessageFilter {
  private tokens = BURST;
  private last: number;
  private refused = 0;
  private refusedAt: number;

  constructor(
    private readonly source: unknown,
    private readonly origin: string,
    private readonly now: () => number,
  ) {
    this.last = now();
    this.refusedAt = this.last;
  }

  /** Whether so much was refused that the View does nothing but flood. */
  get isFlooded(): boolean {
    return this.refused > REFUSED_BURST;
  }

  /**
   * Judges a message that was said within a frame of the window, which is `null` when that is gone. Only this frame's window at exactly
   * its origin is heard; an opaque origin is nobody's. What is said by a frame of an opaque origin that is gone is nobody's either.
   */
  judge(arrival: Arrival, within: unknown): Verdict {
    if (this.source === null || this.source === undefined) return { kind: "foreign" };
    const isKnown = this.origin !== "" && this.origin !== "null" && arrival.origin === this.origin;
    if (arrival.source !== this.source || !isKnown) {
      return isKnown || within === this.source ? this.refuse("not sent to its parent", 0) : { kind: "foreign" };
    }
    if (!this.spend()) return this.refuse("too many", 0);
    const size = measure(arrival.data, MESSAGE_CAP);
    if (size === "not JSON") return this.refuse("not JSON", 0);
    if (size > MESSAGE_CAP) return this.refuse("too large", size);
    return { kind: "let in", bytes: size };
  }

  private refuse(why: Refusal, bytes: number): Verdict {
    const now = this.now();
    this.refused = Math.max(0, this.refused - ((now - this.refusedAt) / 1000) * REFUSED_PER_SECOND) + 1;
    this.refusedAt = now;
    return { kind: "refused", why, bytes };
  }

  private spend(): boolean {
    const now = this.now();
    this.tokens = Math.min(BURST, this.tokens + ((now - this.last) / 1000) * PER_SECOND);
    this.last = now;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }
}

/**
 * About how many characters the JSON of a value has. It stops as soon as there are more than `cap`,
 * and says so when a value cannot be JSON: a message that was cloned may hold maps, buffers and cycles.
 */
export function measure(value: unknown, cap: number): number | "not JSON" {
  let size = 0;
  const stack: Array<{ value: unknown; depth: number }> = [{ value, depth: 0 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const one = next.value;
    if (next.depth > DEPTH_CAP) return "not JSON";
    if (typeof one === "string") size += one.length + 2;
    else if (one === null || one === undefined || typeof one === "boolean" || typeof one === "number") size += 5;
    else if (Array.isArray(one)) {
      size += 2 + one.length;
      if (size > cap) return size;
      for (const item of one) stack.push({ value: item, depth: next.depth + 1 });
    } else if (isPlain(one)) {
      size += 2;
      for (const key of Object.keys(one)) {
        size += key.length + 4;
        if (size > cap) return size;
        stack.push({ value: one[key], depth: next.depth + 1 });
      }
    } else return "not JSON";
    if (size > cap) return size;
  }
  return size;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  // A clone made by another page has that page's prototypes in some engines, so the tag is looked at, not the prototype.
  return typeof value === "object" && value !== null && Object.prototype.toString.call(value) === "[object Object]";
}
