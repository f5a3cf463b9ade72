/** Which messages of a View are shown, and how they are copied. */
import type { BridgeEntry } from "../../components/view/bridge-log";

/** Entries whose method, note or value has a text, in a direction. */
export function filtered(entries: readonly BridgeEntry[], direction: string, text: string): readonly BridgeEntry[] {
  const wanted = text.trim().toLowerCase();
  const has = (entry: BridgeEntry): boolean =>
    wanted === "" || [entry.method, entry.note, entry.value ?? ""].some((it) => it.toLowerCase().includes(wanted));
  return entries.filter((entry) => (direction === "" || entry.direction === direction) && has(entry));
}

/** One message a line, as JSON. A value that was cut stands as text. */
export function lines(entries: readonly BridgeEntry[]): string {
  const valueOf = (text: string | null): unknown => {
    if (text === null) return undefined;
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return text;
    }
  };
  return entries
    .map(({ atMs, direction, method, bytes, note, value }) => JSON.stringify({ atMs, direction, method, bytes, ...(note === "" ? {} : { note }), message: valueOf(value) }))
    .join("\n");
}
