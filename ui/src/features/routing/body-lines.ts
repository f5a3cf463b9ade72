/**
 * A request body cut into lines of fixed width, and each line cut by the source of its parts.
 * The text is never changed: joining all parts gives the body back, byte for byte.
 */
import type { BodySpan } from "../../bindings/BodySpan";

/** A part of a line with one source; `span` is absent where the body names none. */
export interface LinePart {
  text: string;
  span: BodySpan | null;
}

/** Sorted spans that do not overlap and lie inside the body; the later of two that overlap is cut. */
export function tidySpans(spans: readonly BodySpan[], length: number): BodySpan[] {
  const sorted = [...spans].sort((a, b) => a.start - b.start || a.end - b.end);
  const tidy: BodySpan[] = [];
  let from = 0;
  for (const span of sorted) {
    const start = Math.max(span.start, from);
    const end = Math.min(span.end, length);
    if (end <= start) continue;
    tidy.push({ ...span, start, end });
    from = end;
  }
  return tidy;
}

/** Where each line starts, then the body's length. Lines break after a line feed and after `columns` characters. */
export function lineStarts(body: string, columns: number): Uint32Array {
  const starts: number[] = [0];
  const width = Math.max(8, columns);
  let start = 0;
  let feed = body.indexOf("\n");
  while (start < body.length) {
    let end = Math.min(start + width, body.length);
    if (feed >= 0 && feed < start) feed = body.indexOf("\n", start);
    if (feed >= 0 && feed < end) end = feed + 1;
    else if (end < body.length && isLowSurrogate(body.charCodeAt(end))) end += 1;
    starts.push(end);
    start = end;
  }
  return Uint32Array.from(starts);
}

/** The parts of the text from `start` to before `end`. `spans` must be tidy. */
export function partsOf(body: string, spans: readonly BodySpan[], start: number, end: number): LinePart[] {
  const parts: LinePart[] = [];
  let at = start;
  for (let index = firstEndingAfter(spans, start); index < spans.length && at < end; index += 1) {
    const span = spans[index];
    if (span === undefined || span.start >= end) break;
    if (span.start > at) parts.push({ text: body.slice(at, span.start), span: null });
    const from = Math.max(at, span.start);
    const to = Math.min(end, span.end);
    parts.push({ text: body.slice(from, to), span });
    at = to;
  }
  if (at < end) parts.push({ text: body.slice(at, end), span: null });
  return parts;
}

function firstEndingAfter(spans: readonly BodySpan[], offset: number): number {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const span = spans[middle];
    if (span !== undefined && span.end <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
