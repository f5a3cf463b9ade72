import { describe, expect, it } from "vitest";
import type { JsonChildren } from "../../bindings/JsonChildren";
import { JsonRows, rangeStep, treeMove, type JsonRow } from "./json-rows";

/** An array of `count` records, each an object with one big number. */
function records(count: number, asked: string[]): (pointer: string, offset: number, limit: number) => Promise<JsonChildren> {
  return (pointer, offset, limit) => {
    asked.push(`${pointer || "/"} ${offset}`);
    if (pointer === "") {
      const children = Array.from({ length: Math.min(limit, count - offset) }, (_, index) => ({
        key: String(offset + index),
        pointer: `/${offset + index}`,
        kind: "object",
        text: "{…}",
        count: 1,
      }));
      return Promise.resolve({ pointer, kind: "array", count, offset, children });
    }
    const child = { key: "id", pointer: `${pointer}/id`, kind: "number", text: "9007199254740993", count: 0 };
    return Promise.resolve({ pointer, kind: "object", count: 1, offset, children: [child] });
  };
}

const settled = (): Promise<void> => new Promise((done) => setTimeout(done));
const draw = (rows: JsonRow[]): string[] =>
  rows.map((row) => {
    const mark = row.canOpen ? (row.open ? "- " : "+ ") : "  ";
    const text = row.type === "value" ? `${row.child.key}: ${row.child.text}` : row.type === "range" ? row.label : row.type;
    return " ".repeat(row.level) + mark + text;
  });

describe("JsonRows", () => {
  it("opens a value and keeps its digits", async () => {
    const tree = new JsonRows("", records(2, []), () => undefined);
    await tree.start();
    const first = tree.rows()[0];
    if (first !== undefined) tree.toggle(first, true);
    expect(draw(tree.rows())).toEqual([" - 0: {…}", "    loading", " + 1: {…}"]);
    await settled();
    expect(draw(tree.rows())).toEqual([" - 0: {…}", "    id: 9007199254740993", " + 1: {…}"]);
  });

  it("shows a hundred thousand records as ranges and fetches only what is opened", async () => {
    const asked: string[] = [];
    const tree = new JsonRows("", records(100_000, asked), () => undefined);
    await tree.start();
    expect(draw(tree.rows())).toEqual([" + 0 … 39999", " + 40000 … 79999", " + 80000 … 99999"]);
    const last = tree.rows()[2];
    if (last !== undefined) tree.toggle(last, true);
    expect(tree.rows()).toHaveLength(3 + 100);
    const inner = tree.rows()[102];
    if (inner !== undefined) tree.toggle(inner, true);
    tree.rows();
    await settled();
    expect(tree.rows()).toHaveLength(3 + 100 + 200);
    expect(asked).toEqual(["/ 0", "/ 99800"]);
  });

  it("says when a page could not be had", async () => {
    let first = true;
    const tree = new JsonRows(
      "",
      (pointer, offset, limit) => {
        if (!first) return Promise.reject(new Error("gone"));
        first = false;
        return records(1, [])(pointer, offset, limit);
      },
      () => undefined,
    );
    await tree.start();
    const row = tree.rows()[0];
    if (row !== undefined) tree.toggle(row, true);
    tree.rows();
    await settled();
    expect(draw(tree.rows())).toEqual([" - 0: {…}", "    failed"]);
  });
});

describe("rangeStep", () => {
  it("bounds the rows of a node", () => {
    expect([201, 40_000, 40_001, 8_000_001].map(rangeStep)).toEqual([200, 200, 40_000, 8_000_000]);
  });
});

describe("treeMove", () => {
  it("follows the arrows", async () => {
    const tree = new JsonRows("", records(2, []), () => undefined);
    await tree.start();
    expect(treeMove(tree.rows(), 0, "ArrowRight", 10)).toEqual({ toggle: 0, open: true });
    const first = tree.rows()[0];
    if (first !== undefined) tree.toggle(first, true);
    tree.rows();
    await settled();
    const rows = tree.rows();
    expect(treeMove(rows, 0, "ArrowRight", 10)).toEqual({ to: 1 });
    expect(treeMove(rows, 1, "ArrowLeft", 10)).toEqual({ to: 0 });
    expect(treeMove(rows, 0, "ArrowLeft", 10)).toEqual({ toggle: 0, open: false });
    expect(treeMove(rows, 1, "PageDown", 10)).toEqual({ to: 2 });
    expect(treeMove(rows, 2, "Home", 10)).toEqual({ to: 0 });
    expect(treeMove(rows, 1, "Enter", 10)).toBeNull();
  });
});
