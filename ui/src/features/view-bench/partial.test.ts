import { describe, expect, it } from "vitest";
import { heal, pieces } from "./partial";

const INPUT = '{"query": "Globex \\"north\\" \\u00e9\\n", "limit": 120, "deep": {"flags": [true, false, null, -1.5e3], "__proto__": {"x": 1}}, "last": "end"}';

/** Whether a value is the beginning of another one: no key, no item and no character that the other does not have. */
function begins(part: unknown, whole: unknown): boolean {
  if (typeof part === "string") return typeof whole === "string" && whole.startsWith(part);
  if (Array.isArray(part)) return Array.isArray(whole) && part.every((item, i) => begins(item, whole[i]));
  if (typeof part === "object" && part !== null) {
    return Object.entries(part).every(([key, value]) => Object.hasOwn(whole as object, key) && begins(value, (whole as Record<string, unknown>)[key]));
  }
  return Object.is(part, whole);
}

describe("heal", () => {
  it("makes of every beginning a value that the whole begins with", () => {
    const whole: unknown = JSON.parse(INPUT);
    for (let end = 1; end <= INPUT.length; end += 1) {
      const value = heal(INPUT.slice(0, end));
      expect(begins(value, whole), INPUT.slice(0, end)).toBe(true);
      expect(JSON.parse(JSON.stringify(value))).toEqual(value);
    }
    expect(heal(INPUT)).toEqual(whole);
  });

  it.each([
    ["", undefined],
    ["  ", undefined],
    ["{", {}],
    ['{"a', {}],
    ['{"a":', {}],
    ['{"a": 12', {}],
    ['{"a": 12,', { a: 12 }],
    ['{"a": "x\\', { a: "x" }],
    ['{"a": "x\\u00', { a: "x" }],
    ['{"a": tru', {}],
    ['{"a": true', { a: true }],
    ['{"a": [1, 2', { a: [1] }],
    ['{"a": [[', { a: [[]] }],
    ["{]", {}],
  ])("reads %j", (text, value) => {
    expect(heal(text)).toEqual(value);
  });
});

describe("pieces", () => {
  it("grow, and end before the whole", () => {
    const all = pieces(INPUT, 8);
    expect(all.length).toBeGreaterThan(4);
    for (const [i, piece] of all.entries()) {
      if (i > 0) expect(begins(all[i - 1], piece)).toBe(true);
      expect(piece).not.toEqual(JSON.parse(INPUT));
    }
  });

  it("are none of an input that has no parts, or is no object", () => {
    expect([pieces("{}", 5), pieces("[1,2,3]", 5), pieces("", 5)]).toEqual([[], [], []]);
  });
});
