/** A command line in words, and words as lines of a field. Nothing is expanded: the host starts programs without a shell. */

/**
 * Splits a command line as a shell would for plain words and quotes. `null` means that a quote is open.
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

/** Words as one line, each as clear as a quote can make it. For people only: it is never split again. */
export function showCommand(words: readonly string[]): string {
  return words.map((word) => (word === "" || /[\s"']/.test(word) ? JSON.stringify(word) : word)).join(" ");
}

/** What a pasted line is: variables that stand before the program, the program, its arguments. */
export interface CommandLine {
  env: [string, string][];
  command: string;
  args: string[];
}

/** Takes a command line apart; `null` when it is no more than the name or the path of a program. */
export function readCommandLine(text: string): CommandLine | null {
  // A line that goes on after a backslash is one line, and the prompt before it is no word of it.
  const line = text.trim().replace(/\\\r?\n\s*/g, " ").replace(/^\$\s+/, "");
  const words = splitCommand(line);
  if (words === null || words.length < 2) return null;
  const env: [string, string][] = [];
  while (words.length > 1) {
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(words[0] ?? "") ?? [];
    if (name === undefined || value === undefined) break;
    env.push([name, value]);
    words.shift();
  }
  const [command = "", ...args] = words;
  return { env, command, args };
}

/** Whether a path has blanks in its own right, so that they split nothing. */
export function isPath(text: string): boolean {
  return /^(?:[/~.]|[A-Za-z]:[\\/]|\$\{)/.test(text.trim());
}

/** Arguments, one a line. One that a line cannot hold as it is stands there as a JSON string. */
export function toLines(args: readonly string[]): string {
  const line = (arg: string) => (arg === "" || arg.trim() !== arg || /[\r\n]/.test(arg) || /^".*"$/s.test(arg) ? JSON.stringify(arg) : arg);
  return args.map(line).join("\n");
}

/** Arguments from lines. An empty line is none; a quoted one is what stands in the quotes. */
export function fromLines(text: string): string[] {
  return text.split("\n").flatMap((raw) => {
    const line = raw.trim();
    if (line === "") return [];
    if (!(line.length > 1 && line.startsWith('"') && line.endsWith('"'))) return [line];
    try {
      const read: unknown = JSON.parse(line);
      return [typeof read === "string" ? read : line];
    } catch {
      // Somebody wrote quotes as for a shell, around a path of Windows for example.
      return [line.slice(1, -1)];
    }
  });
}

/** Signs that are not seen, or that turn round what is: a list of servers from elsewhere may hide a word behind them. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]/gu;

/** A text in which everything is seen, on one line. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (sign) => {
    const code = (sign.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
}
