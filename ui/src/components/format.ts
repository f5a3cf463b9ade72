import type { AudienceColor } from "../bindings/AudienceColor";
import type { ConsumerName } from "../bindings/ConsumerName";

/** Bytes for people, in decimal units as file managers have them: `214 B`, `6.1 kB`, `1.2 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB"] as const;
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = value < 100 ? value.toFixed(1) : value.toFixed(0);
  return `${digits} ${units[unit]}`;
}

/** A span of time for people: `84 ms`, `1.2 s`, `2 min 5 s`. */
export function formatElapsed(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** A count of tokens: `812`, `3.1k`, `128k`. */
export function formatTokens(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  const thousands = tokens / 1000;
  return `${thousands < 10 ? thousands.toFixed(1).replace(/\.0$/, "") : Math.round(thousands)}k`;
}

/** `1 row`, `37 rows`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** A clock time with seconds, in the user's own locale. */
export function formatTime(ms: number): string {
  return new Date(ms).toLocaleTimeString(undefined, { hour12: false });
}

/** What a consumer is called in the window. */
export function consumerLabel(consumer: ConsumerName): string {
  switch (consumer) {
    case "model":
      return "model";
    case "user":
      return "you";
    case "script":
      return "script";
    case "view":
      return "View";
  }
}

/** The colour of the audience that a consumer stands for. */
export function consumerColor(consumer: ConsumerName): AudienceColor {
  switch (consumer) {
    case "model":
      return "assistant";
    case "user":
      return "user";
    case "script":
      return "programmatic";
    case "view":
      return "view";
  }
}
