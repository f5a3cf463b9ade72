/**
 * What crossed the boundary of a View, in both directions: names and sizes, why something was stopped, and the beginning
 * of what the View itself logs; on the bench the values too, and what the View's page says.
 */
import type { IconName } from "../icons";
import { sketch } from "./sketch";
import { levelOf, nameOf, wordsOf, type Level, type PageSays } from "./page-says";

/** Entries that are kept, and how many of them may be what the page says. */
const KEPT = 400;
const KEPT_OF_PAGE = 200;
/** Characters of a name that are kept: a View may give a method any. */
const LONGEST_NAME = 400;
/** Characters of one value, and of all values of a View, that are kept where they are kept at all. */
const LONGEST_VALUE = 65_536;
const MOST_VALUES = 4_194_304;

/** What a request is called that the policy stopped. */
const BLOCKED = "blocked by the policy";

/** From where to where: a message that crossed or was stopped, or what the View's own page says. */
export type Direction = "in" | "out" | "stopped" | "page";

/** How each direction is drawn and called. */
export const DIRECTIONS: Readonly<Record<Direction, { icon: IconName; word: string }>> = {
  in: { icon: "left", word: "from the View" },
  out: { icon: "right", word: "to the View" },
  stopped: { icon: "blocked", word: "stopped" },
  page: { icon: "console", word: "the View's page" },
};

/** A line of the log. */
export interface BridgeEntry {
  seq: number;
  /** Milliseconds since the View was opened. */
  atMs: number;
  direction: Direction;
  method: string;
  bytes: number;
  /** Why it was stopped, how it ended, or the beginning of what the page says. */
  note: string;
  /** How loud it is. */
  level: Level;
  /** How often it came in a row. */
  times: number;
  /** What it says where values are kept: a message as JSON, what the page says as its text. A long one is cut. */
  value: string | null;
}

/** The log of one View. */
export class BridgeLog {
  private entries: BridgeEntry[] = [];
  private seq = 0;
  /** Characters of the values that are kept. */
  private held = 0;
  private readonly start: number;

  constructor(
    private readonly now: () => number,
    private readonly changed: () => void,
    private readonly keepsValues = false,
  ) {
    this.start = now();
  }

  /** Writes a message that crossed, or was stopped. One that refuses what the View asked is an error as well. */
  add(direction: Exclude<Direction, "page">, method: string, bytes: number, note = "", message?: unknown): void {
    const level = direction === "stopped" || (direction === "out" && isRefusal(message)) ? "error" : "quiet";
    this.write({ direction, method, bytes, note, level, value: this.valueOf(direction, message) });
  }

  /** Writes what the View's page says. */
  says(said: PageSays): void {
    const words = wordsOf(said);
    const [first = ""] = words.split("\n", 1);
    this.write({ direction: "page", method: nameOf(said), bytes: 0, note: first.slice(0, 200), level: levelOf(said), value: words });
  }

  /**
   * Writes that the View's policy stopped a request, and what would allow it. There are few kinds of them, and each is counted where
   * it stands: a View that tries two again and again pushes nothing out.
   */
  blocked(directive: string, where: string, uri: string, remedy: string): void {
    const entry = { direction: "page", method: BLOCKED, bytes: 0, note: `${directive} ${where}`, level: "warning", value: `${directive} ${uri}\n${remedy}` } as const;
    const at = this.entries.findIndex((it) => it.direction === "page" && it.method === BLOCKED && it.note === entry.note);
    const known = this.entries[at];
    if (known === undefined) {
      this.write(entry);
      return;
    }
    this.entries[at] = { ...known, times: known.times + 1 };
    this.changed();
  }

  /** What is stopped or said again is counted, so that a flood does not push the rest out. */
  private write(entry: Omit<BridgeEntry, "seq" | "atMs" | "times">): void {
    const last = this.entries.at(-1);
    if (last !== undefined && isAgain(last, entry)) {
      this.entries[this.entries.length - 1] = { ...last, times: last.times + 1, bytes: last.bytes + entry.bytes };
    } else {
      this.seq += 1;
      this.entries.push({ seq: this.seq, atMs: Math.round(this.now() - this.start), times: 1, ...entry, method: entry.method.slice(0, LONGEST_NAME) });
      this.held += entry.value?.length ?? 0;
      this.forgetOldest(entry.direction);
    }
    this.changed();
  }

  private forgetOldest(direction: Direction): void {
    const ofPage = direction === "page" ? this.entries.filter((it) => it.direction === "page") : [];
    const first = ofPage.length > KEPT_OF_PAGE ? ofPage[0] : this.entries.length > KEPT ? this.entries[0] : undefined;
    if (first !== undefined) {
      this.forget(first);
      this.entries.splice(this.entries.indexOf(first), 1);
    }
    // The oldest values go first; that they crossed stays.
    for (let i = 0; this.held > MOST_VALUES && i < this.entries.length; i += 1) this.forget(this.entries[i]);
  }

  private valueOf(direction: Direction, message: unknown): string | null {
    if (!this.keepsValues || message === undefined) return null;
    // What was stopped may be anything, of any size.
    return direction === "stopped" ? sketch(message, LONGEST_VALUE) : JSON.stringify(message).slice(0, LONGEST_VALUE);
  }

  private forget(entry: BridgeEntry | undefined): void {
    if (entry === undefined || entry.value === null) return;
    this.held -= entry.value.length;
    entry.value = null;
  }

  /** The entries, oldest first. */
  list(): readonly BridgeEntry[] {
    return [...this.entries];
  }
}

function isRefusal(message: unknown): boolean {
  return typeof message === "object" && message !== null && "error" in message;
}

function isAgain(last: BridgeEntry, next: Omit<BridgeEntry, "seq" | "atMs" | "times">): boolean {
  const isCounted = next.direction === "stopped" || next.direction === "page";
  return isCounted && last.direction === next.direction && last.method === next.method && last.note === next.note && (next.direction === "stopped" || last.value === next.value);
}
