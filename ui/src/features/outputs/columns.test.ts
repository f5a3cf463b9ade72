import { describe, expect, it } from "vitest";
import type { Cell } from "../../bindings/Cell";
import { columnWidths } from "./columns";

const text = (value: string): Cell => ({ kind: "text", text: value });
const number = (value: string): Cell => ({ kind: "number", text: value });
const widthOf = (title: string, cells: Cell[], numeric = false): number =>
  columnWidths([{ key: "k", title, numeric }], cells.map((cell) => [cell]))[0]!;

describe("the width of a column", () => {
  it("follows its longest cell, not the usual one", () => {
    const short = widthOf("City", [text("Boston"), text("Boston")]);
    expect(widthOf("City", [text("Boston"), text("Hà Nội, Việt Nam")])).toBeGreaterThan(short + 40);
  });

  it("has room for its title and for a moment written out", () => {
    expect(widthOf("Revenue a year", [number("1")], true)).toBeGreaterThan(14 * 6 + 24);
    // 20 digits and signs in the window's face need 150 pixels, the padding 24.
    const moment = widthOf("Last active", [text("2026-11-27T21:10:00Z")]);
    expect(moment).toBeGreaterThan(174);
    expect(moment).toBeLessThan(220);
  });

  it("stays within its bounds, except that numbers are never cut", () => {
    expect(widthOf("", [])).toBe(64);
    expect(widthOf("Text", [text("word ".repeat(200))])).toBe(280);
    expect(widthOf("Digits", [number("9".repeat(60))], true)).toBeGreaterThan(60 * 6.9);
    expect(widthOf("Digits", [number("9".repeat(100_000))], true)).toBe(640);
  });

  it("gives wide scripts their squares", () => {
    expect(widthOf("x", [text("東京都千代田区丸の内")])).toBeGreaterThan(10 * 13);
  });
});
