/**
 * What crossed the boundary of a View, in both directions: names and sizes, why something was stopped, and the beginning
 * of what the View itself logs. Deliberately absent: the values.
 */

/** Entries that are kept. */
const KEPT = 400;

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
}

/** The log of one View. */
export class BridgeLog {
  private entries: BridgeEntry[] = [];
  private seq = 0;
  private readonly start: number;

  constructor(
    private readonly now: () => number,
    private readonly changed: () => void,
  ) {
    this.start = now();
  }

  /** Writes an entry. A stopped message like the last one is counted, so that a flood does not push the rest out. */
  add(direction: BridgeEntry["direction"], method: string, bytes: number, note = ""): void {
    const last = this.entries.at(-1);
    if (direction === "stopped" && last?.direction === "stopped" && last.method === method && last.note.startsWith(note)) {
      const times = Number(/× (\d+)$/.exec(last.note)?.[1] ?? "1") + 1;
      last.note = `${note} × ${times}`;
      last.bytes += bytes;
    } else {
      this.seq += 1;
      this.entries.push({ seq: this.seq, atMs: Math.round(this.now() - this.start), direction, method, bytes, note });
      if (this.entries.length > KEPT) this.entries.shift();
    }
    this.changed();
  }

  /** The entries, oldest first. */
  list(): readonly BridgeEntry[] {
    return [...this.entries];
  }
}
