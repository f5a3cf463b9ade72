import { describe, expect, it } from "vitest";
import type { TableWindow } from "../../bindings/TableWindow";
import { nextSort, PAGE_ROWS, TablePages, type TableQuery } from "./table-pages";

interface Ask {
  query: TableQuery;
  offset: number;
  limit: number;
  answer: (window: TableWindow) => void;
  refuse: (why: unknown) => void;
}

function table(total: number): { pages: TablePages; asks: Ask[]; changes: () => number } {
  const asks: Ask[] = [];
  let changes = 0;
  const pages = new TablePages(
    total,
    (query, offset, limit) =>
      new Promise((answer, refuse) => {
        asks.push({ query, offset, limit, answer, refuse });
      }),
    () => {
      changes += 1;
    },
  );
  return { pages, asks, changes: () => changes };
}

function rows(offset: number, count: number, matching = 100_000): TableWindow {
  return {
    matching,
    total: 100_000,
    offset,
    rows: Array.from({ length: count }, (_, index) => [{ kind: "number", text: `90071992547${offset + index}` }]),
  };
}

const settled = (): Promise<void> => new Promise((done) => setTimeout(done));

describe("TablePages", () => {
  it("asks once for each page in sight and keeps the exact text", async () => {
    const { pages, asks, changes } = table(100_000);
    pages.want(PAGE_ROWS - 5, PAGE_ROWS + 20);
    pages.want(PAGE_ROWS - 4, PAGE_ROWS + 21);
    expect(asks.map((ask) => ask.offset)).toEqual([0, PAGE_ROWS]);
    asks[1]?.answer(rows(PAGE_ROWS, PAGE_ROWS));
    await settled();
    expect(pages.row(PAGE_ROWS + 3)).toEqual([{ kind: "number", text: `90071992547${PAGE_ROWS + 3}` }]);
    expect(pages.row(3)).toBeUndefined();
    expect(changes()).toBe(1);
  });

  it("never asks past the last row", () => {
    const { pages, asks } = table(37);
    pages.want(0, 5000);
    expect(asks.map((ask) => ask.offset)).toEqual([0]);
  });

  it("drops an answer to an earlier question", async () => {
    const { pages, asks } = table(100_000);
    pages.want(0, 10);
    pages.look({ sort: null, filter: "globex" });
    pages.want(0, 10);
    asks[1]?.answer(rows(0, 2, 2));
    await settled();
    asks[0]?.answer(rows(0, PAGE_ROWS));
    await settled();
    expect(pages.matching).toBe(2);
    expect(pages.row(5)).toBeUndefined();
  });

  it("forgets the pages used longest ago", async () => {
    const { pages, asks } = table(100_000);
    for (let page = 0; page < 60; page += 1) {
      pages.want(page * PAGE_ROWS, page * PAGE_ROWS + 1);
      asks[page]?.answer(rows(page * PAGE_ROWS, PAGE_ROWS));
      await settled();
    }
    expect(pages.row(0)).toBeUndefined();
    expect(pages.row(59 * PAGE_ROWS)).toBeDefined();
  });

  it("keeps a failure until it is tried again", async () => {
    const { pages, asks } = table(10);
    pages.want(0, 10);
    asks[0]?.refuse("gone");
    await settled();
    expect(pages.failure).toBe("gone");
    pages.retry(0, 10);
    expect(asks).toHaveLength(2);
    expect(pages.failure).toBeNull();
  });
});

describe("nextSort", () => {
  it("goes up, down and back", () => {
    const up = nextSort(null, "id");
    const down = nextSort(up, "id");
    expect([up, down, nextSort(down, "id"), nextSort(down, "name")]).toEqual([
      { column: "id", descending: false },
      { column: "id", descending: true },
      null,
      { column: "name", descending: false },
    ]);
  });
});
