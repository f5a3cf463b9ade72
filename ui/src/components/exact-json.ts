/**
 * JSON as text: nothing here turns a number into a JavaScript double, so that every digit stays what the server wrote.
 * Deliberately absent: validation. Rust has parsed the text; a text that was cut in the middle is laid out as far as it goes.
 */

/** A value with its exact text. */
export type ExactJson =
  | { kind: "object"; entries: Array<[string, ExactJson]> }
  | { kind: "array"; items: ExactJson[] }
  | { kind: "string" | "number" | "boolean" | "null"; text: string };

/** Deeper values are shown as text: no honest payload is nested so far, and a hostile one must not overflow the stack. */
const DEPTH_LIMIT = 200;

const SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

/** Lays JSON text out with line breaks and indents. Strings and numbers are copied, character by character, as they are. */
export function prettyJson(text: string, indent = "  "): string {
  const out: string[] = [];
  let depth = 0;
  let at = 0;
  const newline = (): void => {
    out.push("\n", indent.repeat(depth));
  };
  while (at < text.length) {
    const char = text.charAt(at);
    if (char === '"') {
      const end = stringEnd(text, at);
      out.push(text.slice(at, end));
      at = end;
    } else if (char === "{" || char === "[") {
      const next = skipSpace(text, at + 1);
      const close = char === "{" ? "}" : "]";
      if (text.charAt(next) === close) {
        out.push(char, close);
        at = next + 1;
      } else {
        out.push(char);
        depth += 1;
        newline();
        at = next;
      }
    } else if (char === "}" || char === "]") {
      depth = Math.max(0, depth - 1);
      newline();
      out.push(char);
      at += 1;
    } else if (char === ",") {
      out.push(",");
      newline();
      at = skipSpace(text, at + 1);
    } else if (char === ":") {
      out.push(": ");
      at = skipSpace(text, at + 1);
    } else if (char === " " || char === "\n" || char === "\t" || char === "\r") {
      at = skipSpace(text, at);
    } else {
      out.push(char);
      at += 1;
    }
  }
  return out.join("");
}

/** Reads JSON text into values that keep their text; null when it is not JSON or nests too deeply. */
export function readExact(text: string): ExactJson | null {
  const reader = new Reader(text);
  const value = reader.value(0);
  return value !== null && reader.atEnd() ? value : null;
}

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  atEnd(): boolean {
    this.take(SPACE);
    return this.at === this.text.length;
  }

  value(depth: number): ExactJson | null {
    if (depth > DEPTH_LIMIT) return null;
    this.take(SPACE);
    const char = this.text.charAt(this.at);
    if (char === "{") return this.object(depth);
    if (char === "[") return this.array(depth);
    if (char === '"') {
      const text = this.string();
      return text === null ? null : { kind: "string", text };
    }
    const word = this.take(WORD);
    if (word !== null) return { kind: word === "null" ? "null" : "boolean", text: word };
    const number = this.take(NUMBER);
    return number === null ? null : { kind: "number", text: number };
  }

  private object(depth: number): ExactJson | null {
    const entries: Array<[string, ExactJson]> = [];
    this.at += 1;
    if (this.eat("}")) return { kind: "object", entries };
    for (;;) {
      this.take(SPACE);
      const key = this.string();
      if (key === null || !this.eat(":")) return null;
      const value = this.value(depth + 1);
      if (value === null) return null;
      entries.push([key, value]);
      if (this.eat("}")) return { kind: "object", entries };
      if (!this.eat(",")) return null;
    }
  }

  private array(depth: number): ExactJson | null {
    const items: ExactJson[] = [];
    this.at += 1;
    if (this.eat("]")) return { kind: "array", items };
    for (;;) {
      const value = this.value(depth + 1);
      if (value === null) return null;
      items.push(value);
      if (this.eat("]")) return { kind: "array", items };
      if (!this.eat(",")) return null;
    }
  }

  private string(): string | null {
    if (this.text.charAt(this.at) !== '"') return null;
    const end = stringEnd(this.text, this.at);
    const quoted = this.text.slice(this.at, end);
    this.at = end;
    try {
      // A string holds no number, so the platform's own unescaping loses nothing.
      const text: unknown = JSON.parse(quoted);
      return typeof text === "string" ? text : null;
    } catch {
      return null;
    }
  }

  private eat(char: string): boolean {
    this.take(SPACE);
    if (this.text.charAt(this.at) !== char) return false;
    this.at += 1;
    return true;
  }

  private take(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return null;
    this.at = pattern.lastIndex;
    return found[0];
  }
}

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at += 1;
    else if (code === 0x22) return at + 1;
  }
  return text.length;
}

function skipSpace(text: string, start: number): number {
  SPACE.lastIndex = start;
  SPACE.exec(text);
  return SPACE.lastIndex;
}
