/** The widths of a table's columns, from what its first rows hold. Deliberately absent: measuring the page. */
import type { Cell } from "../../bindings/Cell";
import type { ColumnView } from "../../bindings/ColumnView";

const LEAST = 64;
const MOST = 300;
/** The mean width of a character of 13 pixels, and the padding of a cell. */
const CHARACTER = 7.2;
const PADDING = 28;

/** One width in pixels for each column; enough for most of the rows, and for the title. */
export function columnWidths(columns: readonly ColumnView[], rows: readonly (Cell[] | undefined)[]): number[] {
  return columns.map((column, index) => {
    const lengths = rows.flatMap((row) => {
      const cell = row?.[index];
      return cell === undefined ? [] : [cellLength(cell)];
    });
    lengths.sort((a, b) => a - b);
    const usual = lengths[Math.floor(lengths.length * 0.9)] ?? 12;
    const characters = Math.max(usual, column.title.length);
    return Math.round(Math.min(MOST, Math.max(LEAST, characters * CHARACTER + PADDING)));
  });
}

function cellLength(cell: Cell): number {
  switch (cell.kind) {
    case "absent":
      return 0;
    case "null":
      return 4;
    case "bool":
      return 5;
    case "text":
    case "number":
      return cell.text.length;
    case "nested":
      return Math.min(cell.text.length, 18);
  }
}
