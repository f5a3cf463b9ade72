/**
 * What a value looks like that a View sent and that was not let in. It was cloned, so it may be no JSON at all, hold itself, or hold
 * one large part many times; the cost is bounded by what is shown.
 */

/** As JSON of about `most` characters at most. What JSON does not have stands as its kind, and what is beyond is left out. */
export function sketch(value: unknown, most: number): string {
  let left = most;
  const part = (key: string, one: unknown): unknown => {
    left -= key.length + 4 + (typeof one === "string" ? one.length : 0);
    if (typeof one === "string") return one.slice(0, most);
    if (left < 0) return undefined;
    if (typeof one === "bigint") return `${one}n`;
    if (Array.isArray(one)) {
      // One that is sparse is longer than it was to send, so its length is paid for.
      const longest = left >> 4;
      left -= Math.min(one.length, longest);
      return one.length > longest ? one.slice(0, longest) : (one as unknown[]);
    }
    if (typeof one !== "object" || one === null) return one;
    const kind = Object.prototype.toString.call(one);
    return kind === "[object Object]" ? one : kind;
  };
  try {
    return (JSON.stringify(value, part) ?? String(value)).slice(0, most);
  } catch {
    // It holds itself, or is nested without end.
    return "it holds itself, or is too deep";
  }
}
