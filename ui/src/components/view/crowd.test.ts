import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AWAY_MS, Crowd, MOST_RUNNING, toRest, type Member } from "./crowd";

class Fake implements Member {
  running = true;
  may = true;
  rested = 0;
  constructor(readonly conversationId = "c") {}
  runs = () => this.running;
  mayRest = () => this.may;
  rest = () => {
    this.rested += 1;
    this.running = false;
    return Promise.resolve();
  };
}

describe("who rests", () => {
  const away = (...since: (number | null)[]) => since.map((it) => ({ since: it, mayRest: true }));

  it("is nobody while no more run than may", () => {
    expect(toRest(away(...Array<number>(MOST_RUNNING).fill(0)), 10 * AWAY_MS)).toEqual([]);
  });

  it("is who was out of sight the longest, and no more than are too many", () => {
    const all = [...away(...Array<null>(MOST_RUNNING - 2).fill(null)), ...away(300, 100, 200, 0)];
    expect(toRest(all, AWAY_MS + 300).map((it) => it.since)).toEqual([0, 100]);
  });

  it("is nobody who was just seen, and nobody who must not", () => {
    const all = away(...Array<number>(MOST_RUNNING + 4).fill(1));
    expect(toRest(all, AWAY_MS)).toEqual([]);
    for (const one of all) one.mayRest = false;
    expect(toRest(all, AWAY_MS + 1)).toEqual([]);
  });
});

describe("the Views of a window", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function crowd(count: number) {
    const all = Array.from({ length: count }, () => new Fake());
    const together = new Crowd(() => Date.now());
    const leave = all.map((it) => together.join(it));
    return { all, together, leave };
  }

  it("go to rest one by one, the first that went out of sight first, once they were away long enough", () => {
    const { all, together } = crowd(MOST_RUNNING + 2);
    for (const it of all) together.sight(it, true);
    for (const it of all.slice(0, 4)) {
      together.sight(it, false);
      vi.advanceTimersByTime(1000);
    }
    vi.advanceTimersByTime(AWAY_MS - 4001);
    expect(all.map((it) => it.rested)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    vi.advanceTimersByTime(4000);
    expect(all.map((it) => it.rested)).toEqual([1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    vi.advanceTimersByTime(10 * AWAY_MS);
    expect(all.filter((it) => it.running)).toHaveLength(MOST_RUNNING);
  });

  it("wait with one that something is lost for, and take it when that is over", () => {
    const { all, together } = crowd(MOST_RUNNING + 1);
    for (const it of all) {
      it.may = false;
      together.sight(it, false);
    }
    vi.advanceTimersByTime(5 * AWAY_MS);
    expect(all.every((it) => it.running)).toBe(true);
    const last = all.at(-1);
    if (last !== undefined) last.may = true;
    vi.advanceTimersByTime(2000);
    expect(all.filter((it) => !it.running)).toEqual([last]);
  });

  it("leave room until enough run, and count no one that is gone", () => {
    const { all, together, leave } = crowd(MOST_RUNNING);
    expect(together.hasRoom()).toBe(false);
    leave[0]?.();
    expect(together.hasRoom()).toBe(true);
    together.sight(all[0]!, false);
    vi.advanceTimersByTime(5 * AWAY_MS);
    expect(all.every((it) => it.rested === 0)).toBe(true);
  });

  it("of a conversation all end when it is left, and no other", async () => {
    const together = new Crowd(() => Date.now());
    const [mine, other] = [new Fake("left"), new Fake("shown")];
    together.join(mine);
    together.join(other);
    expect(together.runsIn("left")).toBe(true);
    await together.leave("left");
    expect([mine.rested, other.rested, together.runsIn("left")]).toEqual([1, 0, false]);
    await together.leaveAll();
    expect(other.rested).toBe(1);
  });
});
