import { describe, expect, it } from "vitest";
import { demoServers } from "../../platform/demo/servers";
import { parseEnv, serverLook, splitCommand } from "./state";

describe("a command line", () => {
  it.each<[string, string[] | null]>([
    ["", []],
    ["npx -y  server ~/Documents", ["npx", "-y", "server", "~/Documents"]],
    [`run "a b" 'c "d"' e"f g"`, ["run", "a b", 'c "d"', "ef g"]],
    [String.raw`run "say \"hi\" \n"`, ["run", String.raw`say "hi" \n`]],
    [String.raw`C:\tools\run.exe x`, [String.raw`C:\tools\run.exe`, "x"]],
    [`run ""`, ["run", ""]],
    [`run "open`, null],
    ["run $(rm -rf /) ; x", ["run", "$(rm", "-rf", "/)", ";", "x"]],
  ])("%j is split without a shell", (line, words) => {
    expect(splitCommand(line)).toEqual(words);
  });
});

describe("an environment", () => {
  it("is NAME=value lines, values as they are", () => {
    expect(parseEnv("A=1\n\nB_2= x=y \n")).toEqual({ env: [["A", "1"], ["B_2", " x=y "]], wrong: null });
  });

  it.each(["novalue", "=x", "1A=x", "A B=x"])("names the line that is not one: %s", (line) => {
    expect(parseEnv(`OK=1\n${line}`).wrong).toBe(line);
  });
});

it("a server's state has a dot, a word and a sentence", () => {
  expect(demoServers().map(serverLook).map((l) => [l.dot, l.short])).toEqual([
    ["on", "2026-12-01"],
    ["on", "2025-11-25"],
    ["on", "2025-11-25"],
    ["bad", "failed"],
    ["off", "off"],
  ]);
});
