import type { ConfigurationSource } from "../../bindings/ConfigurationSource";
import type { FormPair } from "../../bindings/FormPair";
import type { ImportChoice } from "../../bindings/ImportChoice";
import type { ImportReview } from "../../bindings/ImportReview";
import type { LaunchForm } from "../../bindings/LaunchForm";
import type { ServerForm } from "../../bindings/ServerForm";
import type { ServerTest } from "../../bindings/ServerTest";
import type { ServerView } from "../../bindings/ServerView";

/** What the demonstration says of a server's form: its command taken apart, and one secret where the server wants a key. */
export function demoForm(server: ServerView): ServerForm {
  const [command = "", ...args] = server.command.split(" ");
  const launch: LaunchForm =
    server.launch === "http"
      ? { kind: "http", url: server.command, headers: [{ name: "Authorization", value: null, secret: true }] }
      : { kind: "stdio", command, args, env: server.id === "github" ? [{ name: "GITHUB_TOKEN", value: null, secret: true }] : [], cwd: null };
  return { name: server.name, launch, pinned_revision: server.pinned_revision };
}

/** How a form stands in the list of servers. */
export function demoLine(launch: LaunchForm): string {
  switch (launch.kind) {
    case "stdio":
      return [launch.command, ...launch.args].join(" ");
    case "http":
      return launch.url;
  }
}

/** A server that was just added. */
export function demoServer(id: string, form: ServerForm, before: ServerView | undefined, enabled: boolean): ServerView {
  return {
    id,
    name: form.name,
    launch: form.launch.kind,
    command: demoLine(form.launch),
    enabled,
    state: { kind: enabled ? "starting" : "off" },
    revision: null,
    pinned_revision: form.pinned_revision,
    offers_earlier: null,
    sign_in: form.launch.kind === "http" ? { signed_in_at: null, waiting: false } : null,
    server_info: null,
    negotiation: [],
    tools: before?.tools ?? [],
    rejected_tools: [],
    stderr_tail: [],
    noise_lines: 0,
  };
}

/** Trying a server: anything that is called `broken` ends, the rest answers. */
export function demoTest(form: ServerForm): ServerTest {
  const line = demoLine(form.launch);
  if (line.includes("broken")) {
    return {
      ok: false,
      what: "The program ended before it answered.",
      safe: "Nothing that is kept was changed.",
      todo: "Read what it wrote to stderr, mend the command or its variables, and test again.",
      revision: null,
      server_info: null,
      tools: 0,
      steps: ["server/discover was sent", "the program ended with status 1"],
      stderr_tail: ["error: cannot find module 'broken'"],
    };
  }
  return {
    ok: true,
    what: "The server answered.",
    safe: "It was ended again; nothing that is kept was changed.",
    todo: "",
    revision: form.pinned_revision ?? "2025-11-25",
    server_info: "demo 1.0.0",
    tools: 3,
    steps: ["server/discover was refused as unknown", "initialize asked for 2025-11-25", "the server answered 2025-11-25"],
    stderr_tail: ["demo: ready"],
  };
}

/** What a list would bring: the same four servers, whatever was given, so that everything a review has to say is there. */
export function demoReview(source: ConfigurationSource, names: readonly string[]): ImportReview {
  const stdio = (command: string, args: string[], env: FormPair[] = []): LaunchForm => ({ kind: "stdio", command, args, env, cwd: null });
  const http = (url: string, headers: FormPair[] = []): LaunchForm => ({ kind: "http", url, headers });
  const plain = (name: string, value: string): FormPair => ({ name, value, secret: false });
  const entry = (key: string, launch: LaunchForm) => ({ key, name: key, launch, runs: demoLine(launch), enabled: true, remarks: [] as string[], taken: names.includes(key), missing: [] as string[] });
  return {
    source: source.kind === "path" ? source.path : "the pasted text",
    servers: [
      entry("filesystem", stdio("npx", ["-y", "@modelcontextprotocol/server-filesystem", "${workspaceFolder}"])),
      {
        ...entry("weather", stdio("uvx", ["weather-mcp"], [plain("WEATHER_KEY", "${input:weather-key}"), { name: "OTHER_KEY", value: null, secret: true }])),
        remarks: ["its command is a whole line, split as a shell would; no shell runs"],
      },
      { ...entry("tracker", http("https://tracker.example/mcp", [plain("Authorization", "Bearer ${env:TRACKER_TOKEN}")])), missing: ["TRACKER_TOKEN"] },
      { ...entry("old", http("http://127.0.0.1:9999/sse")), enabled: false },
    ],
    inputs: [{ id: "weather-key", description: "Key of the weather service", password: true, default: null, options: [], used_by: ["weather"] }],
    digest: "d1",
    skipped: [{ name: "half", why: "it has neither a command nor a url" }],
  };
}

/** The servers that were chosen of that list. */
export function demoImported(review: ImportReview, chosen: readonly ImportChoice[], fresh: () => string): ServerView[] {
  return chosen.flatMap(({ key, name, enabled }) => {
    const entry = review.servers.find((it) => it.key === key);
    return entry === undefined ? [] : [demoServer(fresh(), { name, launch: entry.launch, pinned_revision: null }, undefined, enabled)];
  });
}

/** The list for other programs. */
export function demoExport(servers: readonly ServerView[]): string {
  const entries = servers.map((it) => {
    const { launch } = demoForm(it);
    return [it.name, launch.kind === "stdio" ? { command: launch.command, args: launch.args } : { type: "http", url: launch.url }];
  });
  return `${JSON.stringify({ mcpServers: Object.fromEntries(entries) }, null, 2)}\n`;
}
