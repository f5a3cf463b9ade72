/** Which messages of a View are shown, how they are laid out, and how they are copied. */
import { prettyJson } from "../../components/exact-json";
import type { BridgeEntry } from "../../components/view/bridge-log";

/** Entries whose method, note or value has a text, in a direction. What went wrong stands with what the page says, whatever its direction. */
export function filtered(entries: readonly BridgeEntry[], direction: string, text: string): readonly BridgeEntry[] {
  const wanted = text.trim().toLowerCase();
  const has = (entry: BridgeEntry): boolean =>
    wanted === "" || [entry.method, entry.note, entry.value ?? ""].some((it) => it.toLowerCase().includes(wanted));
  const goes = (entry: BridgeEntry): boolean => direction === "" || entry.direction === direction || (direction === "page" && entry.level === "error");
  return entries.filter((entry) => goes(entry) && has(entry));
}

/** A time since the View was opened, as narrow as it can be told: `9999 ms`, `27.5 s`, `7 m 27.5 s`, `1 h 7 m`. */
export function timeOf(ms: number): string {
  if (ms < 10_000) return `${ms} ms`;
  const tenths = Math.floor(ms / 100);
  const minutes = Math.floor(tenths / 600);
  const seconds = `${((tenths % 600) / 10).toFixed(1)} s`;
  if (minutes === 0) return seconds;
  return minutes < 60 ? `${minutes} m ${seconds}` : `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
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
