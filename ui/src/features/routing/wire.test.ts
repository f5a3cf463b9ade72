import { describe, expect, it } from "vitest";
import type { WireLine } from "../../bindings/WireLine";
import { filterLines, KEPT_LINES, LINES_PER_REQUEST, readOn } from "./wire";

const line = (seq: number, change: Partial<WireLine> = {}): WireLine => ({
  seq,
  at_ms: seq,
  server_id: "s",
  channel: "from_server",
  title: "tools/call",
  text: `{"id":${seq}}`,
  bytes: 10,
  ...change,
});

describe("readOn", () => {
  it("reads pages until one is short, from where it stopped", async () => {
    const asked: number[] = [];
    const all = Array.from({ length: LINES_PER_REQUEST + 3 }, (_, index) => line(index + 1));
    const lines = await readOn([], (after, limit) => {
      asked.push(after);
      return Promise.resolve(all.filter((one) => one.seq > after).slice(0, limit));
    });
    expect(lines).toHaveLength(all.length);
    expect(asked).toEqual([0, LINES_PER_REQUEST]);
  });

  it("keeps the list itself when nothing is new, and never repeats a line", async () => {
    const kept = [line(1), line(2)];
    expect(await readOn(kept, () => Promise.resolve([]))).toBe(kept);
    expect((await readOn(kept, () => Promise.resolve([line(2), line(3)]))).map((one) => one.seq)).toEqual([1, 2, 3]);
  });

  it("forgets the oldest when a server floods", async () => {
    const kept = Array.from({ length: KEPT_LINES }, (_, index) => line(index + 1));
    const lines = await readOn(kept, () => Promise.resolve([line(KEPT_LINES + 1)]));
    expect([lines.length, lines[0]?.seq]).toEqual([KEPT_LINES, 2]);
  });
});

describe("filterLines", () => {
  it("looks in titles and texts of the chosen channels", () => {
    const lines = [line(1), line(2, { channel: "stderr", text: "Ready" }), line(3, { title: "tools/list" })];
    const seqs = (text: string, ...channels: WireLine["channel"][]): number[] =>
      filterLines(lines, { channels: new Set(channels), text }).map((one) => one.seq);
    expect(seqs("LIST", "from_server", "stderr")).toEqual([3]);
    expect(seqs("ready", "stderr")).toEqual([2]);
    expect(seqs("", "from_server")).toEqual([1, 3]);
  });
});
