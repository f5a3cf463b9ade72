/**
 * The rows of the JSON inspector: a tree whose values stay in Rust and are fetched a page at a time.
 * Every node has at most PAGE children on the screen: a longer list is shown as ranges that open in turn, so that
 * a hundred thousand records cost no more than two hundred.
 */
import type { JsonChild } from "../../bindings/JsonChild";
import type { JsonChildren } from "../../bindings/JsonChildren";

/** Children of one request, and of one open node. */
export const PAGE = 200;

/** A row of the tree. */
export type JsonRow =
  | { type: "value"; id: string; level: number; child: JsonChild; open: boolean; canOpen: boolean }
  | { type: "range"; id: string; level: number; label: string; open: boolean; canOpen: true }
  | { type: "loading" | "failed"; id: string; level: number; open: false; canOpen: false };

/** Fetches children. */
export type FetchChildren = (pointer: string, offset: number, limit: number) => Promise<JsonChildren>;

/** A part of a node's children. */
interface Span {
  pointer: string;
  start: number;
  end: number;
}

/** The open part of a tree. */
export class JsonRows {
  private readonly open = new Set<string>();
  private readonly pages = new Map<string, JsonChild[] | "loading" | "failed">();
  private root: JsonChildren | null = null;
  /** What went wrong at the root, if it did. */
  failure: unknown = null;

  constructor(
    private readonly pointer: string,
    private readonly fetchChildren: FetchChildren,
    private readonly changed: () => void,
  ) {}

  /** Loads the root. */
  async start(): Promise<void> {
    try {
      const root = await this.fetchChildren(this.pointer, 0, PAGE);
      this.root = root;
      this.pages.set(pageId(this.pointer, 0), root.children);
    } catch (error) {
      this.failure = error;
    }
    this.changed();
  }

  /** The kind and the number of children of the root, once known. */
  get summary(): { kind: string; count: number } | null {
    return this.root === null ? null : { kind: this.root.kind, count: this.root.count };
  }

  /** The rows from top to bottom. Pages that are missing are asked for. */
  rows(): JsonRow[] {
    const rows: JsonRow[] = [];
    if (this.root !== null) this.spread({ pointer: this.pointer, start: 0, end: this.root.count }, 1, rows);
    return rows;
  }

  /** Opens or closes a row. */
  toggle(row: JsonRow, open: boolean): void {
    if (!row.canOpen) return;
    if (open) this.open.add(row.id);
    else this.open.delete(row.id);
    this.changed();
  }

  private spread(span: Span, level: number, rows: JsonRow[]): void {
    const size = span.end - span.start;
    if (size > PAGE) {
      const step = rangeStep(size);
      for (let start = span.start; start < span.end; start += step) {
        const end = Math.min(start + step, span.end);
        const id = `${span.pointer}#${start}-${end}`;
        const open = this.open.has(id);
        rows.push({ type: "range", id, level, label: `${start} … ${end - 1}`, open, canOpen: true });
        if (open) this.spread({ pointer: span.pointer, start, end }, level + 1, rows);
      }
      return;
    }
    const page = this.page(span);
    if (page === "loading" || page === "failed") {
      rows.push({ type: page, id: `${span.pointer}#${span.start}?`, level, open: false, canOpen: false });
      return;
    }
    for (const child of page.slice(0, size)) {
      const canOpen = child.count > 0;
      const open = canOpen && this.open.has(child.pointer);
      rows.push({ type: "value", id: child.pointer, level, child, open, canOpen });
      if (open) this.spread({ pointer: child.pointer, start: 0, end: child.count }, level + 1, rows);
    }
  }

  private page(span: Span): JsonChild[] | "loading" | "failed" {
    const id = pageId(span.pointer, span.start);
    const there = this.pages.get(id);
    if (there !== undefined) return there;
    this.pages.set(id, "loading");
    void this.fetchChildren(span.pointer, span.start, PAGE)
      .then((answer) => this.pages.set(id, answer.children))
      .catch(() => this.pages.set(id, "failed"))
      .then(() => {
        this.changed();
      });
    return "loading";
  }
}

/** Where a key leads in the tree. */
export type TreeMove = { to: number } | { toggle: number; open: boolean } | null;

/** The keyboard of a tree, as the ARIA practices describe it. `page` is the number of rows in sight. */
export function treeMove(rows: readonly JsonRow[], at: number, key: string, page: number): TreeMove {
  const row = rows[at];
  if (row === undefined) return null;
  const clamp = (to: number): TreeMove => ({ to: Math.max(0, Math.min(rows.length - 1, to)) });
  switch (key) {
    case "ArrowDown":
      return clamp(at + 1);
    case "ArrowUp":
      return clamp(at - 1);
    case "PageDown":
      return clamp(at + page);
    case "PageUp":
      return clamp(at - page);
    case "Home":
      return clamp(0);
    case "End":
      return clamp(rows.length - 1);
    case "ArrowRight":
      if (!row.canOpen) return null;
      return row.open ? clamp(at + 1) : { toggle: at, open: true };
    case "ArrowLeft": {
      if (row.open) return { toggle: at, open: false };
      const parent = rows.slice(0, at).findLastIndex((other) => other.level < row.level);
      return parent < 0 ? null : { to: parent };
    }
    case "Enter":
    case " ":
      return row.canOpen ? { toggle: at, open: !row.open } : null;
    default:
      return null;
  }
}

/** How many children a range holds, so that no node has more than PAGE rows. */
export function rangeStep(size: number): number {
  let step = PAGE;
  while (size / step > PAGE) step *= PAGE;
  return step;
}

function pageId(pointer: string, start: number): string {
  return `${pointer}#${start}`;
}
