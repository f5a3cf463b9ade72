/** How far a View came that did not start: what was wrong with its messages, or which one is missing. */
import type { BridgeEntry } from "./bridge-log";

/** What is said of a View that did not start, beside the errors of its page. */
export interface Progress {
  /** The first of its messages that was stopped or answered with an error, and why. */
  firstError: string | null;
  /** What it was answered, and what it owes since. */
  owes: string | null;
}

/** Reads it from what crossed, oldest first. */
export function progressOf(entries: readonly BridgeEntry[]): Progress {
  const wrong = entries.find((it) => it.direction !== "page" && it.level === "error");
  const isAnswered = entries.some((it) => it.direction === "out" && it.level !== "error" && / to ui\/initialize$/.test(it.method));
  return {
    firstError: wrong === undefined ? null : `${wrong.method}: ${wrong.note}`,
    owes: isAnswered ? "It was answered ui/initialize; ui/notifications/initialized is missing." : null,
  };
}
