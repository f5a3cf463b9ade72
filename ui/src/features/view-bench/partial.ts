/**
 * A tool's input as it comes while a model still writes it: the beginning of the text, read as far as it goes and closed.
 * Deliberately absent: time; whoever sends the pieces waits between them.
 */

const NONE = Symbol("nothing yet");
const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Reads the beginning of a JSON text. What may still become something else, such as half a number, is left out. */
export function heal(prefix: string): unknown {
  const value = new Reader(prefix).value();
  return value === NONE ? undefined : value;
}

/** An input in so many pieces, each with more of it than the one before. The whole input is none of them. */
export function pieces(json: string, count: number): Record<string, unknown>[] {
  const found: Record<string, unknown>[] = [];
  const whole = JSON.stringify(heal(json));
  let last = "";
  for (let i = 1; i <= count; i += 1) {
    const value = heal(json.slice(0, Math.round((json.length * i) / (count + 1))));
    if (typeof value !== "object" || value === null || Array.isArray(value)) continue;
    const text = JSON.stringify(value);
    if (text === last || text === whole) continue;
    last = text;
    found.push(value as Record<string, unknown>);
  }
  return found;
}

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  value(): unknown {
    this.space();
    switch (this.text[this.at]) {
      case undefined:
        return NONE;
      case "{":
        return this.object();
      case "[":
        return this.array();
      case '"':
        return this.string().text;
      default:
        return this.word();
    }
  }

  private object(): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    this.at += 1;
    for (;;) {
      this.space();
      if (this.text[this.at] !== '"') break;
      const key = this.string();
      this.space();
      if (!key.whole || this.text[this.at] !== ":") break;
      this.at += 1;
      const value = this.value();
      if (value === NONE) break;
      entries.push([key.text, value]);
      this.space();
      if (this.text[this.at] !== ",") break;
      this.at += 1;
    }
    this.close("}");
    // Not by assignment: a key may be called __proto__.
    return Object.fromEntries(entries);
  }

  private array(): unknown[] {
    const items: unknown[] = [];
    this.at += 1;
    for (;;) {
      const value = this.text[this.skipped()] === "]" ? NONE : this.value();
      if (value === NONE) break;
      items.push(value);
      this.space();
      if (this.text[this.at] !== ",") break;
      this.at += 1;
    }
    this.close("]");
    return items;
  }

  private string(): { text: string; whole: boolean } {
    let out = "";
    this.at += 1;
    for (;;) {
      const char = this.text[this.at];
      if (char === undefined) return { text: out, whole: false };
      this.at += 1;
      if (char === '"') return { text: out, whole: true };
      if (char !== "\\") {
        out += char;
        continue;
      }
      const escaped = this.text[this.at];
      if (escaped === undefined) return { text: out, whole: false };
      this.at += 1;
      if (escaped !== "u") {
        out += ESCAPES[escaped] ?? escaped;
        continue;
      }
      const code = this.text.slice(this.at, this.at + 4);
      if (code.length < 4) return { text: out, whole: false };
      this.at += 4;
      out += String.fromCharCode(Number.parseInt(code, 16));
    }
  }

  /** A number or a word. At the very end more of it may come. */
  private word(): unknown {
    const start = this.at;
    while (this.at < this.text.length && !/[\s,\]}]/.test(this.text.charAt(this.at))) this.at += 1;
    const word = this.text.slice(start, this.at);
    if (this.at === this.text.length && !["true", "false", "null"].includes(word)) return NONE;
    try {
      return JSON.parse(word) as unknown;
    } catch {
      return NONE;
    }
  }

  private close(sign: string): void {
    this.space();
    if (this.text[this.at] === sign) this.at += 1;
  }

  private skipped(): number {
    this.space();
    return this.at;
  }

  private space(): void {
    while (/\s/.test(this.text.charAt(this.at))) this.at += 1;
  }
}
