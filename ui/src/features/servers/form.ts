import type { FormPair } from "../../bindings/FormPair";
import type { ServerForm } from "../../bindings/ServerForm";
import { fromLines, isPath, readCommandLine, showCommand, toLines } from "./words";

/** A variable or a header while it is edited. */
export interface Row {
  /** What tells it from the other rows. */
  id: number;
  name: string;
  value: string;
  secret: boolean;
  /** The name under which the host keeps a secret value, which never comes here. */
  keptAs: string | null;
}

/** The form while it is edited. Both ways of reaching a server are kept, so that a change of mind loses nothing. */
export interface Draft {
  kind: "stdio" | "http";
  name: string;
  command: string;
  /** One a line. */
  args: string;
  env: Row[];
  cwd: string;
  url: string;
  headers: Row[];
  /** The revision; empty for automatic negotiation. */
  pinned: string;
}

/** What is wrong, by field: `name`, `command`, `args`, `url`, and `row-3` for a row. */
export type Problems = Readonly<Record<string, string>>;

let rows = 0;

/** A row of its own. */
export function newRow(more: Partial<Row> = {}): Row {
  rows += 1;
  return { id: rows, name: "", value: "", secret: false, keptAs: null, ...more };
}

/** Whether a name says that its value is a secret. */
export function soundsSecret(name: string): boolean {
  return /key|token|secret|passw|authorization|cookie|credential/i.test(name);
}

/** An empty form, or one that holds what the host has. */
export function draftOf(form: ServerForm | null): Draft {
  const read = (pairs: readonly FormPair[]) =>
    pairs.map((it) =>
      newRow({ name: it.name, value: it.value ?? "", secret: it.secret, keptAs: it.secret && it.value === null ? it.name : null }),
    );
  const empty: Draft = { kind: "stdio", name: "", command: "", args: "", env: [], cwd: "", url: "", headers: [], pinned: "" };
  if (form === null) return empty;
  const { launch } = form;
  const common = { ...empty, name: form.name, pinned: form.pinned_revision ?? "" };
  switch (launch.kind) {
    case "stdio":
      return { ...common, command: launch.command, args: toLines(launch.args), env: read(launch.env), cwd: launch.cwd ?? "" };
    case "http":
      return { ...common, kind: "http", url: launch.url, headers: read(launch.headers) };
  }
}

/** Whether the host keeps the value of a row and nothing was typed over it. */
export function isKept(row: Row): boolean {
  return row.keptAs !== null && row.secret && row.value === "" && row.name.trim() === row.keptAs;
}

/** The name that is typed, or a free one that follows from what runs. `taken` are the names of the other servers. */
export function nameOf(draft: Draft, taken: readonly string[]): string {
  const suggested = suggestedName(draft);
  return draft.name.trim() !== "" ? draft.name.trim() : suggested === "" ? "" : freeName(suggested, taken);
}

/** A name that is not taken: `files`, `files 2`, `files 3`. */
export function freeName(name: string, taken: readonly string[]): string {
  let free = name;
  for (let count = 2; taken.includes(free); count += 1) free = `${name} ${count}`;
  return free;
}

/** What is sent to the host. Call it when `problems` finds nothing. */
export function formOf(draft: Draft, taken: readonly string[]): ServerForm {
  const pairs = (all: readonly Row[]): FormPair[] =>
    filledRows(all).map((row) => ({ name: row.name.trim(), value: isKept(row) ? null : row.value, secret: row.secret }));
  const cwd = draft.cwd.trim();
  return {
    name: nameOf(draft, taken),
    pinned_revision: draft.pinned === "" ? null : draft.pinned,
    launch:
      draft.kind === "stdio"
        ? { kind: "stdio", command: draft.command.trim(), args: fromLines(draft.args), env: pairs(draft.env), cwd: cwd === "" ? null : cwd }
        : { kind: "http", url: draft.url.trim(), headers: pairs(draft.headers) },
  };
}

/** Rows in which something stands; an empty one was only opened. */
function filledRows(all: readonly Row[]): Row[] {
  return all.filter((row) => row.name.trim() !== "" || row.value !== "" || row.keptAs !== null);
}

/** What is wrong with the form. `taken` are the names of the other servers. */
export function problems(draft: Draft, taken: readonly string[]): Problems {
  const found: Record<string, string> = {};
  const name = nameOf(draft, taken);
  if (draft.kind === "stdio") {
    if (draft.command.trim() === "") found["command"] = "What shall run? A program's name or its path.";
    else if (/^https?:\/\//i.test(draft.command.trim())) found["command"] = "This is an address. Choose Address above.";
  } else {
    const wrong = wrongUrl(draft.url.trim());
    if (wrong !== null) found["url"] = wrong;
  }
  if (name === "") found["name"] = "A server needs a name.";
  else if (taken.includes(name)) found["name"] = `Another server is called ${name}.`;
  const seen = new Set<string>();
  for (const row of filledRows(draft.kind === "stdio" ? draft.env : draft.headers)) {
    const wrong = wrongRow(row, draft.kind, seen);
    if (wrong !== null) found[`row-${row.id}`] = wrong;
  }
  return found;
}

function wrongUrl(url: string): string | null {
  if (url === "") return "Where is it? An address that begins with https:// or http://.";
  // What a placeholder stands for is known when it connects.
  if (url.includes("${")) return null;
  if (!/^https?:\/\//i.test(url)) return "It must begin with https:// or http://.";
  return URL.canParse(url) ? null : "This is not an address.";
}

function wrongRow(row: Row, kind: Draft["kind"], seen: Set<string>): string | null {
  const name = row.name.trim();
  if (name === "") return "It needs a name.";
  const ok = kind === "stdio" ? /^[^\s=]+$/ : /^[!#$%&'*+.^_`|~\w-]+$/;
  if (!ok.test(name)) return kind === "stdio" ? "A variable's name has no blank and no =." : "This cannot be a header's name.";
  // Headers are the same in any case of letters.
  const same = kind === "stdio" ? name : name.toLowerCase();
  if (seen.has(same)) return `${name} is there twice.`;
  seen.add(same);
  if (kind === "http" && /[\r\n]/.test(row.value)) return "A header's value is one line.";
  if (row.value !== "" || isKept(row)) return null;
  if (row.keptAs !== null && !row.secret) return "The kept value is never shown. Type it again, or make it secret.";
  if (row.keptAs !== null) return `The kept value belongs to ${row.keptAs}. Type it again for ${name}.`;
  return row.secret ? "Type the value." : null;
}

/** A name that follows from what runs, for those who do not want to think of one. */
export function suggestedName(draft: Draft): string {
  if (draft.kind === "http") {
    const host = URL.canParse(draft.url.trim()) ? new URL(draft.url.trim()).hostname : "";
    return host.replace(/^(?:www|mcp|api)\.(?=.*\.)/, "");
  }
  const plain = (text: string) =>
    text
      .replace(/^.*[\\/]/, "")
      .replace(/(?<=.)@.*$/, "")
      .replace(/\.(?:exe|cmd|bat|m?js|ts|py|sh|jar)$/i, "")
      .replace(/^(?:mcp[-_])?server[-_](?=.)|^mcp[-_](?=.)/i, "")
      .replace(/[-_](?:mcp(?:[-_]server)?|server)$/i, "");
  const command = draft.command.trim();
  // What a program that runs other programs runs says more than its own name.
  const runner = /^(?:npx|npm|pnpm|pnpx|yarn|bunx?|uvx?|pipx|node|deno|tsx|python\d*(?:\.\d+)?|docker|podman|cmd|sh|bash)$/i;
  if (!runner.test(plain(command))) return plain(command);
  const verbs = /^(?:-.*|run|exec|dlx|x|tool|c|\/c)$/;
  const subject = fromLines(draft.args).find((arg) => !verbs.test(arg) && !runner.test(arg));
  return subject === undefined ? plain(command) : plain(subject);
}

/** What a pasted text is when it is more than the program: a line to take apart, an address, or a list of servers. */
export type Pasted = { kind: "line"; env: [string, string][]; command: string; args: string[] } | { kind: "address"; url: string } | { kind: "list" };

/** Says what was pasted or typed into the field of the command; `null` when it is only a program. */
export function readPasted(text: string): Pasted | null {
  const trimmed = text.trim();
  if (/^https?:\/\/\S+$/i.test(trimmed)) return { kind: "address", url: trimmed };
  if (/^\{[\s\S]*"(?:mcpServers|servers|command|url)"/.test(trimmed)) return { kind: "list" };
  if (isPath(trimmed) && !/["'\n]|\s-/.test(trimmed)) return null;
  const line = readCommandLine(text);
  return line === null ? null : { kind: "line", ...line };
}

/** Puts a command line into the fields. What its variables set replaces rows of the same name. */
export function withLine(draft: Draft, line: { env: [string, string][]; command: string; args: string[] }): Draft {
  const fresh = line.env.map(([name, value]) => newRow({ name, value, secret: soundsSecret(name) }));
  const env = [...draft.env.filter((row) => !fresh.some((it) => it.name === row.name.trim())), ...fresh];
  return { ...draft, kind: "stdio", command: line.command, args: toLines(line.args), env };
}

/** What would run or be asked, for people: the whole command, the folder, the variables; a secret is dots. */
export function whatRuns(draft: Draft): { line: string; more: string[] } {
  const shown = (row: Row) => `${row.name.trim()}${draft.kind === "stdio" ? "=" : ": "}${row.secret ? "••••" : row.value}`;
  const rowsOf = filledRows(draft.kind === "stdio" ? draft.env : draft.headers).filter((row) => row.name.trim() !== "");
  if (draft.kind === "http") return { line: draft.url.trim(), more: rowsOf.map(shown) };
  const folder = draft.cwd.trim();
  const line = draft.command.trim() === "" ? "" : showCommand([draft.command.trim(), ...fromLines(draft.args)]);
  return { line, more: [...(folder === "" ? [] : [`in ${folder}`]), ...rowsOf.map(shown)] };
}

/** What the placeholders in some texts stand for, each said once. */
export function placeholders(texts: readonly string[]): { text: string; means: string }[] {
  const found = new Set(texts.flatMap((text) => text.match(/\$\{[^}]*\}/g) ?? []));
  return [...found].map((text) => ({ text, means: meaning(text.slice(2, -1)) }));
}

function meaning(inside: string): string {
  const input = /^input:(.+)$/.exec(inside)?.[1];
  if (input !== undefined) return `what you say for “${input}” at the import`;
  if (inside === "userHome") return "your home folder";
  if (inside === "workspaceFolder") return "the folder of the file that it was imported from";
  if (inside === "pathSeparator" || inside === "/") return "the sign between folders on this system";
  const [variable = "", ...rest] = inside.replace(/^env:/, "").split(":-");
  if (!/^[\p{L}\p{N}_]+$/u.test(variable)) return "nothing here: the server will not start with it";
  const otherwise = rest.length === 0 ? "; without it the server does not start" : `, or “${rest.join(":-")}” where it is not set`;
  return `the variable ${variable} of Usher's environment when it starts${otherwise}`;
}

/** Every text of the form that may have placeholders. */
export function textsOf(draft: Draft): string[] {
  const values = (all: readonly Row[]) => all.map((row) => row.value);
  return draft.kind === "stdio" ? [draft.command, draft.args, draft.cwd, ...values(draft.env)] : [draft.url, ...values(draft.headers)];
}

/** What to think of before an address is used; nothing here stops it. */
export function addressRemark(url: string): string | null {
  const trimmed = url.trim();
  if (trimmed.includes("${") || !URL.canParse(trimmed)) return null;
  const { protocol, hostname, username } = new URL(trimmed);
  if (username !== "") return "The address holds a name or a password; a header that is secret keeps it better.";
  const here = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/i.test(hostname) || hostname.endsWith(".localhost");
  return protocol === "http:" && !here ? "Without https everybody on the way can read what is sent, keys included." : null;
}
