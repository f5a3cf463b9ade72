import { describe, expect, it } from "vitest";
import type { ServerForm } from "../../bindings/ServerForm";
import { addressRemark, draftOf, formOf, nameOf, newRow, placeholders, problems, readPasted, suggestedName, textsOf, whatRuns, withLine, type Draft, type Row } from "./form";

const PROGRAM: ServerForm = {
  name: "files",
  pinned_revision: "2025-06-18",
  launch: {
    kind: "stdio",
    command: "npx",
    args: ["-y", "server", "a b"],
    env: [{ name: "LEVEL", value: "3", secret: false }, { name: "API_KEY", value: null, secret: true }],
    cwd: "~/work",
  },
};

const draft = (more: Partial<Draft>): Draft => ({ ...draftOf(null), command: "run", name: "x", ...more });
const row = (more: Partial<Row>): Row => ({ ...newRow(), ...more, id: 1 });

describe("the form of a server", () => {
  it("sends back what it was given, and a kept secret as kept", () => {
    expect(formOf(draftOf(PROGRAM), [])).toEqual(PROGRAM);
    const remote: ServerForm = { name: "r", pinned_revision: null, launch: { kind: "http", url: "https://x.test/mcp", headers: [{ name: "Authorization", value: null, secret: true }] } };
    expect(formOf(draftOf(remote), [])).toEqual(remote);
    expect(problems(draftOf(remote), [])).toEqual({});
  });

  it("replaces a secret by what is typed over it, and leaves out rows that were only opened", () => {
    const edited = draftOf(PROGRAM);
    edited.env = [...edited.env.map((it) => (it.name === "API_KEY" ? { ...it, value: "new" } : it)), newRow()];
    const { launch } = formOf(edited, []);
    expect(launch.kind === "stdio" && launch.env).toEqual([{ name: "LEVEL", value: "3", secret: false }, { name: "API_KEY", value: "new", secret: true }]);
  });

  it.each<[string, Partial<Draft>, Record<string, string>]>([
    ["nothing", { command: " ", name: "x" }, { command: "What shall run? A program's name or its path." }],
    ["an address as the command", { command: "https://x.test" }, { command: "This is an address. Choose Address above." }],
    ["no address", { kind: "http" }, { url: "Where is it? An address that begins with https:// or http://." }],
    ["another scheme", { kind: "http", url: "ftp://x" }, { url: "It must begin with https:// or http://." }],
    ["no host", { kind: "http", url: "https://" }, { url: "This is not an address." }],
    ["a placeholder in the address", { kind: "http", url: "${env:BASE}/mcp" }, {}],
    ["a taken name", { name: " taken " }, { name: "Another server is called taken." }],
    ["a value without a name", { env: [row({ value: "1" })] }, { "row-1": "It needs a name." }],
    ["a blank in a name", { env: [row({ name: "A B" })] }, { "row-1": "A variable's name has no blank and no =." }],
    ["a variable without a value", { env: [row({ name: "A" })] }, {}],
    ["a secret without a value", { env: [row({ name: "A", secret: true })] }, { "row-1": "Type the value." }],
    ["a kept secret", { env: [row({ name: "A", secret: true, keptAs: "A" })] }, {}],
    ["a kept secret of another name", { env: [row({ name: "B", secret: true, keptAs: "A" })] }, { "row-1": "The kept value belongs to A. Type it again for B." }],
    ["a kept secret made public", { env: [row({ name: "A", keptAs: "A" })] }, { "row-1": "The kept value is never shown. Type it again, or make it secret." }],
    ["a header twice", { kind: "http", url: "https://x.test", headers: [{ ...newRow(), name: "X-A" }, row({ name: "x-a" })] }, { "row-1": "x-a is there twice." }],
    ["no header's name", { kind: "http", url: "https://x.test", headers: [row({ name: "A:" })] }, { "row-1": "This cannot be a header's name." }],
  ])("says what is wrong with %s", (_, more, expected) => {
    expect(problems(draft(more), ["taken"])).toEqual(expected);
  });

  it.each<[Partial<Draft>, string]>([
    [{ command: "npx", args: "-y\n@modelcontextprotocol/server-filesystem@1.2\n~/x" }, "filesystem"],
    [{ command: "uvx", args: "mcp-server-fetch" }, "fetch"],
    [{ command: "docker", args: "run\n-i\n--rm\nghcr.io/github/github-mcp-server" }, "github"],
    [{ command: String.raw`C:\tools\notes.exe` }, "notes"],
    [{ command: "/usr/bin/python3", args: "-m\nweather_server" }, "weather"],
    [{ command: "node" }, "node"],
    [{ kind: "http", url: "https://mcp.example.com/v1" }, "example.com"],
    [{ kind: "http", url: "http://localhost:3000" }, "localhost"],
    [{}, ""],
  ])("%j is called %s when nobody names it", (more, name) => {
    expect(suggestedName({ ...draftOf(null), ...more })).toBe(name);
    expect(nameOf({ ...draftOf(null), ...more }, [name])).toBe(name === "" ? "" : `${name} 2`);
  });
});

describe("what is pasted", () => {
  it("is a line, an address, a list, or only a program", () => {
    expect(readPasted("A_TOKEN=1 npx -y x")).toEqual({ kind: "line", env: [["A_TOKEN", "1"]], command: "npx", args: ["-y", "x"] });
    expect(readPasted(" https://x.test/mcp ")).toEqual({ kind: "address", url: "https://x.test/mcp" });
    expect(readPasted('{"mcpServers": {}}')).toEqual({ kind: "list" });
    expect(readPasted("npx")).toBeNull();
    expect(readPasted("/opt/my tools/run")).toBeNull();
    expect(readPasted("/opt/run --flag")).toMatchObject({ kind: "line", command: "/opt/run" });
  });

  it("puts its variables beside those that are there, keys as secrets", () => {
    const before = draft({ env: [row({ name: "A_TOKEN", value: "old" }), { ...newRow(), name: "B", value: "2" }] });
    const after = withLine(before, { env: [["A_TOKEN", "1"]], command: "npx", args: ["-y"] });
    expect(after.env.map((it) => [it.name, it.value, it.secret])).toEqual([["B", "2", false], ["A_TOKEN", "1", true]]);
  });
});

describe("what would run", () => {
  it("is the whole of it, with dots for a secret", () => {
    expect(whatRuns(draftOf(PROGRAM))).toEqual({ line: 'npx -y server "a b"', more: ["in ~/work", "LEVEL=3", "API_KEY=••••"] });
    const secret = draft({ env: [row({ name: "KEY", value: "hush", secret: true })] });
    expect(JSON.stringify(whatRuns(secret))).not.toContain("hush");
  });

  it("explains each placeholder once", () => {
    const texts = textsOf(draft({ args: "${userHome}/x\n${env:LEVEL:-info}", env: [row({ name: "K", value: "${input:key}${userHome}" })] }));
    expect(placeholders(texts).map((it) => `${it.text}: ${it.means}`)).toEqual([
      "${userHome}: your home folder",
      "${env:LEVEL:-info}: the variable LEVEL of Usher's environment when it starts, or “info” where it is not set",
      "${input:key}: what you say for “key” at the import",
    ]);
    expect(placeholders(["${command:x y} $HOME ${open"])).toEqual([{ text: "${command:x y}", means: "nothing here: the server will not start with it" }]);
  });

  it.each([
    ["http://127.0.0.1:9/mcp", null],
    ["http://[::1]:9/mcp", null],
    ["https://example.com", null],
    ["http://example.com", "Without https everybody on the way can read what is sent, keys included."],
    ["https://me:pw@example.com", "The address holds a name or a password; a header that is secret keeps it better."],
  ])("%s is remarked on", (url, remark) => {
    expect(addressRemark(url)).toBe(remark);
  });
});
