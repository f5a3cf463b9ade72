import { expect, it } from "vitest";
import { sketch } from "./sketch";

it("shows what is JSON as it is, and the rest by its kind", () => {
  expect(sketch({ id: 1, method: "x", params: [null, "a"] }, 1000)).toBe('{"id":1,"method":"x","params":[null,"a"]}');
  expect(sketch({ map: new Map([[1, 2]]), bytes: new Uint8Array(9), big: 7n }, 1000)).toBe('{"map":"[object Map]","bytes":"[object Uint8Array]","big":"7n"}');
  expect([sketch("hello", 1000), sketch(undefined, 1000)]).toEqual(['"hello"', "undefined"]);
});

it("ends, whatever it is given", () => {
  const round: unknown[] = [];
  round.push(round);
  expect(sketch(round, 1000)).toContain("holds itself");
  let deep: unknown = 1;
  for (let n = 0; n < 100_000; n += 1) deep = [deep];
  expect(sketch(deep, 100_000_000).length).toBeLessThan(1_000_000);
  // Each part holds the next one twice, or is long and has nothing in it: written out they would fill the memory.
  let doubled: unknown = "x".repeat(1000);
  for (let n = 0; n < 60; n += 1) doubled = [doubled, doubled];
  let sparse: unknown[] = [];
  for (let n = 0; n < 1000; n += 1) {
    const next = new Array<unknown>(4_000_000_000);
    next[0] = sparse;
    sparse = next;
  }
  for (const large of [doubled, sparse, new Array(1_000_000).fill({ a: 1 }), "x".repeat(10_000_000)]) expect(sketch(large, 65_536).length).toBeLessThanOrEqual(65_536);
});
