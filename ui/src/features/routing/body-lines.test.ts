import { describe, expect, it } from "vitest";
import type { BodySpan } from "../../bindings/BodySpan";
import { lineStarts, partsOf, tidySpans } from "./body-lines";

const span = (start: number, end: number, source: BodySpan["source"] = "messages"): BodySpan => ({
  start,
  end,
  source,
  label: `${source} ${start}`,
  item_id: null,
});

function lines(body: string, columns: number): string[] {
  const starts = lineStarts(body, columns);
  return Array.from({ length: starts.length - 1 }, (_, index) => body.slice(starts[index], starts[index + 1]));
}

describe("lineStarts", () => {
  it("breaks at the width and at line feeds and loses nothing", () => {
    const body = "0123456789abcdef\nxy\n\nz";
    expect(lines(body, 10)).toEqual(["0123456789", "abcdef\n", "xy\n", "\n", "z"]);
    expect(lines(body, 10).join("")).toBe(body);
  });

  it("never cuts a surrogate pair", () => {
    expect(lines("1234567😀9", 8)).toEqual(["1234567😀", "9"]);
  });

  it("is quick with a body of many megabytes", () => {
    expect(lineStarts("x".repeat(8_000_000), 80).length).toBe(100_001);
  });
});

describe("partsOf", () => {
  it("cuts a line by source and names the gaps", () => {
    const body = '{"m":"hello","r":"42"}';
    const spans = tidySpans([span(18, 20, "results"), span(6, 11)], body.length);
    expect(partsOf(body, spans, 0, body.length).map((part) => [part.text, part.span?.source ?? null])).toEqual([
      ['{"m":"', null],
      ["hello", "messages"],
      ['","r":"', null],
      ["42", "results"],
      ['"}', null],
    ]);
  });

  it("cuts a span that runs over several lines", () => {
    const body = "aaaaaaaaaaBBBBBBBBBBBBBBBBBBBB";
    const spans = tidySpans([span(10, 30)], body.length);
    expect(partsOf(body, spans, 8, 16)).toMatchObject([{ text: "aa", span: null }, { text: "BBBBBB" }]);
    expect(partsOf(body, spans, 16, 24)).toMatchObject([{ text: "BBBBBBBB", span: { start: 10 } }]);
  });

  it("gives the body back whatever the spans are", () => {
    const body = "The quick brown fox jumps over the lazy dog";
    const spans = tidySpans([span(4, 20), span(10, 30, "tools"), span(3, 3), span(40, 900, "host")], body.length);
    const starts = lineStarts(body, 9);
    const joined = Array.from({ length: starts.length - 1 }, (_, index) =>
      partsOf(body, spans, starts[index] ?? 0, starts[index + 1] ?? 0)
        .map((part) => part.text)
        .join(""),
    ).join("");
    expect(joined).toBe(body);
  });
});
