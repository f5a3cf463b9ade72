import type { ServerView } from "../../bindings/ServerView";

/** What a server's state looks like: the dot, the words at the right of its row, the whole sentence. */
export function serverLook(server: ServerView): { dot: "on" | "busy" | "bad" | "off"; short: string; text: string } {
  switch (server.state.kind) {
    case "off":
      return { dot: "off", short: "off", text: "It is off." };
    case "starting":
      return { dot: "busy", short: "starting", text: "It is starting." };
    case "ready": {
      const revision = server.revision ?? "unknown revision";
      return { dot: "on", short: revision, text: `It is ready and speaks ${revision}.` };
    }
    case "restarting":
      return { dot: "busy", short: "restarting", text: `It is restarting, attempt ${server.state.attempt}.` };
    case "failed":
      return { dot: "bad", short: "failed", text: server.state.what };
  }
}

/**
 * Splits a command line as a shell would for plain words and quotes. Nothing is expanded:
 * the host starts the program without a shell. `null` means that a quote is open.
 */
export function splitCommand(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let i = 0; i < line.length; i += 1) {
    const c = line.charAt(i);
    if (quote !== null) {
      if (c === quote) quote = null;
      else if (c === "\\" && quote === '"' && /["\\]/.test(line.charAt(i + 1))) word += line.charAt((i += 1));
      else word += c;
    } else if (c === '"' || c === "'") {
      quote = c;
      word ??= "";
    } else if (/\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + c;
  }
  if (quote !== null) return null;
  if (word !== null) words.push(word);
  return words;
}

/** Reads `NAME=value` lines; `null` names the first line that is not one. */
export function parseEnv(text: string): { env: [string, string][]; wrong: string | null } {
  const env: [string, string][] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const at = line.indexOf("=");
    const name = line.slice(0, at).trim();
    if (at < 1 || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return { env, wrong: line };
    env.push([name, line.slice(at + 1)]);
  }
  return { env, wrong: null };
}
