/**
 * The widths of a table's columns, from what its first page holds. Deliberately absent: measuring the page, which
 * would lay it out again for each table; a character's width is near enough to be known.
 */
import type { Cell } from "../../bindings/Cell";
import type { ColumnView } from "../../bindings/ColumnView";

/** No column is narrower, in pixels. */
const LEAST = 64;
/** A column of text is never wider; what is longer is cut and shown whole by its title. */
const MOST = 280;
/** A column of numbers is never cut, unless they are no sensible numbers any more. */
const MOST_NUMERIC = 640;
/** The padding of a cell on both sides, and a pixel for what was rounded away. */
const PADDING = 26;
/** What a header has besides its title: the arrow of its order. */
const ORDER = 14;
/** A character of the fixed face at 11.5 pixels. */
const FIXED = 6.95;
/** Characters that are measured; no column is wide enough for more. */
const MEASURED = 120;

/** One width in pixels for each column: enough for its title and for the longest cell, within bounds. */
export function columnWidths(columns: readonly ColumnView[], rows: readonly (Cell[] | undefined)[]): number[] {
  return columns.map((column, index) => {
    let widest = textWidth(column.title) + ORDER;
    for (const row of rows) {
      const cell = row?.[index];
      if (cell !== undefined) widest = Math.max(widest, cellWidth(cell));
    }
    const most = column.numeric ? MOST_NUMERIC : MOST;
    return Math.ceil(Math.min(most, Math.max(LEAST, widest + PADDING)));
  });
}

function cellWidth(cell: Cell): number {
  switch (cell.kind) {
    case "absent":
      return 0;
    case "null":
      return 4 * FIXED;
    case "bool":
      return 5 * FIXED;
    case "text":
      return textWidth(cell.text);
    case "number":
      return Math.min(cell.text.length, MEASURED) * FIXED;
    case "nested":
      return Math.min(cell.text.length, 18) * FIXED;
  }
}

/** Near the width of a text in the window's face at 13 pixels, rather too much than too little. */
function textWidth(text: string): number {
  let width = 0;
  for (const character of text.slice(0, MEASURED)) width += characterWidth(character);
  return width;
}

function characterWidth(character: string): number {
  if (/[ijlIft.,:;'!|()[\] ]/.test(character)) return 5;
  if (/[mwMW@%—]/.test(character)) return 11.5;
  if (/[A-Z0-9#&+=~<>_]/.test(character)) return 8.7;
  // Wide scripts and pictures fill a square.
  if (character > "\u10ff") return 14;
  return 7.4;
}
