/**
 * The pages of a table that Rust holds: which are there, which are asked for, which are stale.
 * Deliberately absent: sorting and filtering, which Rust does on the exact values.
 */
import type { Cell } from "../../bindings/Cell";
import type { SortBy } from "../../bindings/SortBy";
import type { TableWindow } from "../../bindings/TableWindow";

/** Rows of one request. */
export const PAGE_ROWS = 200;
/** Pages that are kept; the ones used longest ago go first. */
const KEPT_PAGES = 50;

/** How the table is looked at. */
export interface TableQuery {
  sort: SortBy | null;
  filter: string;
}

/** Asks Rust for rows. */
export type FetchRows = (query: TableQuery, offset: number, limit: number) => Promise<TableWindow>;

/** The loaded part of one table. */
export class TablePages {
  /** Rows after filtering, as far as known. */
  matching: number;
  /** What went wrong with the last request, if it did. */
  failure: unknown = null;

  private query: TableQuery = { sort: null, filter: "" };
  private generation = 0;
  private readonly pages = new Map<number, Cell[][]>();
  private readonly asked = new Set<number>();

  /** `total` is the number of rows that the output says it has; `changed` is called whenever rows came. */
  constructor(
    total: number,
    private readonly fetchRows: FetchRows,
    private readonly changed: () => void,
  ) {
    this.matching = total;
  }

  /** Looks at the table in another way; answers to earlier questions no longer count. */
  look(query: TableQuery): void {
    this.query = query;
    this.generation += 1;
    this.pages.clear();
    this.asked.clear();
    this.failure = null;
  }

  /** The cells of a row, or undefined while they are on their way. */
  row(index: number): Cell[] | undefined {
    return this.pages.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS];
  }

  /** Makes sure that the rows from `first` to before `end` are there or on their way. */
  want(first: number, end: number): void {
    const last = Math.max(first, Math.min(end, Math.max(this.matching, 1)) - 1);
    for (let page = Math.floor(first / PAGE_ROWS); page <= Math.floor(last / PAGE_ROWS); page += 1) {
      const there = this.pages.get(page);
      if (there !== undefined) {
        // Put back last, so that the map's order is the order of use.
        this.pages.delete(page);
        this.pages.set(page, there);
      } else if (!this.asked.has(page)) {
        this.asked.add(page);
        void this.load(page, this.generation);
      }
    }
  }

  /** Asks again for what failed. */
  retry(first: number, end: number): void {
    this.failure = null;
    this.want(first, end);
  }

  private async load(page: number, generation: number): Promise<void> {
    try {
      const window = await this.fetchRows(this.query, page * PAGE_ROWS, PAGE_ROWS);
      if (generation !== this.generation) return;
      this.matching = window.matching;
      this.failure = null;
      this.pages.set(page, window.rows);
      for (const oldest of this.pages.keys()) {
        if (this.pages.size <= KEPT_PAGES) break;
        this.pages.delete(oldest);
      }
    } catch (error) {
      if (generation !== this.generation) return;
      this.failure = error;
    }
    this.asked.delete(page);
    this.changed();
  }
}

/** The next order when a header is chosen: ascending, descending, as it came. */
export function nextSort(sort: SortBy | null, column: string): SortBy | null {
  if (sort?.column !== column) return { column, descending: false };
  return sort.descending ? null : { column, descending: true };
}
