/** Which messages of a View are shown, how they are laid out, and how they are copied. */
import { prettyJson } from "../../components/exact-json";
import type { BridgeEntry } from "../../components/view/bridge-log";

/** Entries whose method, note or value has a text, in a direction. */
export function filtered(entries: readonly BridgeEntry[], direction: string, text: string): readonly BridgeEntry[] {
  const wanted = text.trim().toLowerCase();
  const has = (entry: BridgeEntry): boolean =>
    wanted === "" || [entry.method, entry.note, entry.value ?? ""].some((it) => it.toLowerCase().includes(wanted));
  return entries.filter((entry) => (direction === "" || entry.direction === direction) && has(entry));
}

/** What an entry says, to be read. What the page says is a text, also where it looks like JSON. */
export function shownValue({ direction, value }: BridgeEntry): string | null {
  return value === null || direction === "page" ? value : prettyJson(value);
}

/** One message a line, as JSON. A value that was cut, and what the page says, stands as text. */
export function lines(entries: readonly BridgeEntry[]): string {
  const valueOf = ({ direction, value: text }: BridgeEntry): unknown => {
    if (text === null) return undefined;
    if (direction === "page") return text;
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return text;
    }
  };
  const lineOf = (entry: BridgeEntry): string => {
    const { atMs, direction, method, bytes, note, times } = entry;
    return JSON.stringify({ atMs, direction, method, bytes, ...(note === "" ? {} : { note }), ...(times === 1 ? {} : { times }), message: valueOf(entry) });
  };
  return entries.map(lineOf).join("\n");
}
