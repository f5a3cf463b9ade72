import { describe, expect, it } from "vitest";
import { HeightKeeper } from "./height";

describe("the height of a View", () => {
  it("is clamped, and echoes and nonsense change nothing", () => {
    const cases = [420.4, 302, 298, 297, 0, -5e9, 1e12, Number.NaN, undefined];
    const got = cases.map((reported) => new HeightKeeper(300, () => 0).next(reported));
    expect(got).toEqual([420, 300, 300, 297, 40, 40, 1200, 300, 300]);
  });

  it("follows a View that grows and shrinks now and then", () => {
    let now = 0;
    const keeper = new HeightKeeper(240, () => now);
    for (let turn = 0; turn < 50; turn++) {
      now += 3000;
      expect(keeper.next(turn % 2 === 0 ? 500 : 300)).toBe(turn % 2 === 0 ? 500 : 300);
    }
  });

  it("stays large where a View goes back and forth without end", () => {
    let now = 0;
    const keeper = new HeightKeeper(240, () => now);
    const heights: number[] = [];
    for (let turn = 0; turn < 60; turn++) {
      now += 16;
      heights.push(keeper.next(turn % 2 === 0 ? 500 : 300));
    }
    expect(new Set(heights.slice(-40))).toEqual(new Set([500]));
    now += 10_000;
    expect(keeper.next(300)).toBe(300);
  });
});
