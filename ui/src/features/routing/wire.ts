/** The wire as the window keeps it: the last lines, read on from where it stopped. */
import type { WireChannel } from "../../bindings/WireChannel";
import type { WireLine } from "../../bindings/WireLine";

/** Lines that are kept; a server that floods must not fill the window. */
export const KEPT_LINES = 5000;
/** Lines of one request. */
export const LINES_PER_REQUEST = 500;
/** Characters of a line that are laid out at once. */
export const LAID_OUT = 20_000;

/** Asks for lines after a sequence number. */
export type FetchLines = (afterSeq: number, limit: number) => Promise<WireLine[]>;

/** Reads on until nothing new is there, and answers the last KEPT_LINES lines. */
export async function readOn(kept: readonly WireLine[], fetchLines: FetchLines): Promise<readonly WireLine[]> {
  let lines = kept;
  for (;;) {
    const after = lines.at(-1)?.seq ?? 0;
    const more = (await fetchLines(after, LINES_PER_REQUEST)).filter((line) => line.seq > after);
    if (more.length === 0) return lines;
    lines = [...lines, ...more].slice(-KEPT_LINES);
    if (more.length < LINES_PER_REQUEST) return lines;
  }
}

/** What one wants to see. */
export interface WireFilter {
  channels: ReadonlySet<WireChannel>;
  text: string;
}

/** The lines that fit, in order. */
export function filterLines(lines: readonly WireLine[], filter: WireFilter): WireLine[] {
  const needle = filter.text.trim().toLowerCase();
  return lines.filter(
    (line) =>
      filter.channels.has(line.channel) &&
      (needle === "" || line.title.toLowerCase().includes(needle) || line.text.toLowerCase().includes(needle)),
  );
}
