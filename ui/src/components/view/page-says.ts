/**
 * What the page of a View says without the View's doing: errors that nobody caught, elements that did not load, and on the bench its
 * console, as a script in its frame tells them. The View can tell the same itself, so it is shown and never acted upon.
 * Deliberately absent: how much is told. The script keeps it small, and the filter counts these among the View's messages.
 */

/** What a frame is named so that its console is told; the script in it looks for this. */
export const TELLS_CONSOLE = "usher:console";

/** Characters of what is said at once, and of where. */
const LONGEST_TEXT = 2000;
const LONGEST_FILE = 500;

/** What each kind is called, and how loud it is. */
const KINDS = {
  uncaught: { name: "uncaught error", level: "error" },
  rejected: { name: "unhandled rejection", level: "error" },
  unloaded: { name: "could not be loaded", level: "error" },
  error: { name: "console.error", level: "error" },
  warn: { name: "console.warn", level: "warning" },
  info: { name: "console.info", level: "quiet" },
  log: { name: "console.log", level: "quiet" },
  debug: { name: "console.debug", level: "quiet" },
  more: { name: "more was left out", level: "quiet" },
} as const satisfies Record<string, { name: string; level: Level }>;

/** How loud something is that a page says. */
export type Level = "error" | "warning" | "quiet";

/** What a page said. */
export interface PageSays {
  kind: keyof typeof KINDS;
  text: string;
  /** Where an error was thrown; empty when nobody knows. */
  place: string;
}

/** Reads what the script says; anything else is a message like every other. */
export function readPageSays(data: unknown): PageSays | null {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return null;
  const { usher, kind, text, file, line, column } = data as Record<string, unknown>;
  if (usher !== "says" || typeof kind !== "string" || !Object.hasOwn(KINDS, kind)) return null;
  if (typeof text !== "string" || text.length > LONGEST_TEXT) return null;
  if (typeof file !== "string" || file.length > LONGEST_FILE || !isCount(line) || !isCount(column)) return null;
  return { kind: kind as PageSays["kind"], text, place: placeOf(file, line, column) };
}

/** What it is called in a list. */
export function nameOf({ kind }: PageSays): string {
  return KINDS[kind].name;
}

export function levelOf({ kind }: PageSays): Level {
  return KINDS[kind].level;
}

/** All of it, as one text. */
export function wordsOf({ kind, text, place }: PageSays): string {
  if (kind === "more") return "It says more than is told; from here on some of it is missing.";
  return place === "" ? text : `${text}\nin ${place}`;
}

/** Whether the View goes on without something that it wanted. */
export function isUncaught({ kind }: PageSays): boolean {
  return kind === "uncaught" || kind === "rejected";
}

/** A script that stands in the document has the document's own address. */
function placeOf(file: string, line: number, column: number): string {
  if (line === 0) return file === "/" ? "" : file;
  return `${file === "" || file === "/" ? "the document" : file}, line ${line}, column ${column}`;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
