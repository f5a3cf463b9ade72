/**
 * What crossed the boundary of a View, in both directions: names and sizes, why something was stopped, and the beginning
 * of what the View itself logs; on the bench the values too.
 */

/** Entries that are kept. */
const KEPT = 400;
/** Characters of one value, and of all values of a View, that are kept where they are kept at all. */
const LONGEST_VALUE = 65_536;
const MOST_VALUES = 4_194_304;

/** A message that crossed, or was stopped. */
export interface BridgeEntry {
  seq: number;
  /** Milliseconds since the View was opened. */
  atMs: number;
  direction: "in" | "out" | "stopped";
  method: string;
  bytes: number;
  /** Why it was stopped, or how it ended. */
  note: string;
  /** What it says, as JSON, where values are kept. A long one is cut. */
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

  /** Writes an entry. A stopped message like the last one is counted, so that a flood does not push the rest out. */
  add(direction: BridgeEntry["direction"], method: string, bytes: number, note = "", message?: unknown): void {
    const last = this.entries.at(-1);
    if (direction === "stopped" && last?.direction === "stopped" && last.method === method && last.note.startsWith(note)) {
      const times = Number(/× (\d+)$/.exec(last.note)?.[1] ?? "1") + 1;
      last.note = `${note} × ${times}`;
      last.bytes += bytes;
    } else {
      this.seq += 1;
      this.entries.push({ seq: this.seq, atMs: Math.round(this.now() - this.start), direction, method, bytes, note, value: this.valueOf(message) });
      if (this.entries.length > KEPT) this.forget(this.entries.shift());
      // The oldest values go first; that they crossed stays.
      for (let i = 0; this.held > MOST_VALUES && i < this.entries.length; i += 1) this.forget(this.entries[i]);
    }
    this.changed();
  }

  private valueOf(message: unknown): string | null {
    if (!this.keepsValues || message === undefined) return null;
    const value = JSON.stringify(message).slice(0, LONGEST_VALUE);
    this.held += value.length;
    return value;
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
