import { describe, expect, it } from "vitest";
import { fromLines, isPath, readCommandLine, showCommand, splitCommand, toLines, visible } from "./words";

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

  it("has variables before the program, a prompt, and lines that go on", () => {
    expect(readCommandLine("$ TOKEN=a=b LEVEL=3 npx \\\n  -y server X=1")).toEqual({
      env: [["TOKEN", "a=b"], ["LEVEL", "3"]],
      command: "npx",
      args: ["-y", "server", "X=1"],
    });
    expect(readCommandLine("npx")).toBeNull();
    expect(readCommandLine(`npx "open`)).toBeNull();
  });

  it("is shown with quotes where words would run together", () => {
    expect(showCommand(["run", "", "a b", `say "hi"`, "x=1"])).toBe(String.raw`run "" "a b" "say \"hi\"" x=1`);
  });

  it.each([["/opt/my tools/run", true], [String.raw`C:\Program Files\x.exe`, true], ["~/bin/x", true], ["npx -y x", false]])("%s is a path: %s", (text, is) => {
    expect(isPath(text)).toBe(is);
  });
});

describe("arguments, one a line", () => {
  it.each<[string[]]>([
    [[]],
    [["-y", "a b", '{"x":1}', "it's"]],
    [["", " padded ", "two\nlines", '"quoted"', "\ttab"]],
  ])("%j comes back as it was", (args) => {
    expect(fromLines(toLines(args))).toEqual(args);
  });

  it("are what somebody who thinks of a shell means", () => {
    expect(fromLines('  -y \n\n"C:\\Program Files\\x"\n"a b"\n"')).toEqual(["-y", String.raw`C:\Program Files\x`, "a b", '"']);
  });
});

it("what cannot be seen is shown, so that nothing runs unread", () => {
  expect(visible("npx\u202etxt.exe\u200b \u00a0\nrm")).toBe(String.raw`npx\u202etxt.exe\u200b \u00a0\u000arm`);
  // Tags, which spell a text of their own, and what only chooses a form.
  expect(visible("run\u{e0001}\u{e0041}\u{e007f} x\ufe0f y\u{e0100} \u2800z")).toBe(String.raw`run\u{e0001}\u{e0041}\u{e007f} x\ufe0f y\u{e0100} \u2800z`);
  expect(visible("größe 日本 🌤")).toBe("größe 日本 🌤");
});
