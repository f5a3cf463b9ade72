import { describe, expect, it } from "vitest";
import { BridgeLog } from "./bridge-log";
import { isUncaught, levelOf, nameOf, readPageSays, wordsOf } from "./page-says";

const SAYS = { usher: "says", kind: "uncaught", text: "Error: no", file: "/", line: 3, column: 7 };

describe("what a View's page says", () => {
  it("is read in one form alone", () => {
    expect(readPageSays(SAYS)).toEqual({ kind: "uncaught", text: "Error: no", place: "the document, line 3, column 7" });
    for (const other of [
      null,
      "says",
      [SAYS],
      {},
      { ...SAYS, usher: "blocked" },
      { ...SAYS, kind: "toString" },
      { ...SAYS, kind: 1 },
      { ...SAYS, text: 1 },
      { ...SAYS, text: "x".repeat(2001) },
      { ...SAYS, file: null },
      { ...SAYS, file: "x".repeat(501) },
      { ...SAYS, line: -1 },
      { ...SAYS, line: 1.5 },
      { ...SAYS, column: "7" },
      { ...SAYS, column: undefined },
      { jsonrpc: "2.0", method: "ping", id: 1 },
    ]) expect(readPageSays(other)).toBeNull();
  });

  it("has a name, a loudness and a place", () => {
    const of = (kind: string, change: object = {}) => readPageSays({ ...SAYS, kind, ...change })!;
    expect(["uncaught", "rejected", "unloaded", "error", "warn", "info", "log", "debug", "more"].map((kind) => [nameOf(of(kind)), levelOf(of(kind)), isUncaught(of(kind))])).toEqual([
      ["uncaught error", "error", true],
      ["unhandled rejection", "error", true],
      ["could not be loaded", "error", false],
      ["console.error", "error", false],
      ["console.warn", "warning", false],
      ["console.info", "quiet", false],
      ["console.log", "quiet", false],
      ["console.debug", "quiet", false],
      ["more was left out", "quiet", false],
    ]);
    expect(wordsOf(of("uncaught", { file: "https://cdn.example/a.js" }))).toBe("Error: no\nin https://cdn.example/a.js, line 3, column 7");
    expect(wordsOf(of("log", { file: "", line: 0, column: 0 }))).toBe("Error: no");
    expect(wordsOf(of("more", { text: "whatever a View says" }))).not.toContain("whatever");
  });

  it("is counted in the log when it comes again, and pushes no message out of it", () => {
    const log = new BridgeLog(() => 0, () => undefined, true);
    log.add("in", "ui/initialize", 10);
    const says = (kind: string, text: string) => log.says(readPageSays({ ...SAYS, kind, text, file: "", line: 0, column: 0 })!);
    for (let count = 0; count < 3; count += 1) says("warn", "careful\nthe second line");
    expect(log.list()).toMatchObject([
      { direction: "in" },
      { direction: "page", method: "console.warn", note: "careful", value: "careful\nthe second line", level: "warning", times: 3 },
    ]);
    for (let count = 0; count < 1000; count += 1) says("log", `line ${count}`);
    expect([log.list()[0]?.method, log.list().length, log.list().at(-1)?.note]).toEqual(["ui/initialize", 201, "line 999"]);
  });
});
