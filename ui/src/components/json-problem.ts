/**
 * Where a text stops being JSON, and what should stand there. The engines' own words differ, and some name no place.
 * Deliberately absent: values. Whether a text is JSON at all is the engine's to say; this is asked when it said no.
 */

/** What is wrong, and where: both count from 1. */
export interface JsonProblem {
  line: number;
  column: number;
  what: string;
}

const SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** What keeps a text from being JSON; `null` if nothing does. */
export function jsonProblem(text: string): JsonProblem | null {
  try {
    JSON.parse(text);
    return null;
  } catch {
    const { at, what } = new Scanner(text).first();
    const before = text.slice(0, at).split("\n");
    return { line: before.length, column: (before.at(-1) ?? "").length + 1, what };
  }
}

/** The same as a sentence. */
export function jsonProblemText(text: string): string | null {
  const problem = jsonProblem(text);
  return problem === null ? null : `Line ${problem.line}, column ${problem.column}: ${problem.what}.`;
}

interface Found {
  at: number;
  what: string;
}

class Scanner {
  private at = 0;
  /** What is open, from the outside in: brackets that must be closed again. A text may nest as deep as it is long. */
  private readonly open: ("}" | "]")[] = [];

  constructor(private readonly text: string) {}

  first(): Found {
    for (;;) {
      const wrong = this.value() ?? this.afterValue();
      if (wrong !== null) return wrong;
      // The engine gave up on what is JSON.
      if (this.open.length === 0) return { at: 0, what: "it nests too deeply" };
    }
  }

  /** Reads a value, or the beginning of a box up to its first value. */
  private value(): Found | null {
    for (;;) {
      this.take(SPACE);
      const char = this.text.charAt(this.at);
      if (char !== "{" && char !== "[") return this.scalar(char);
      const close = char === "{" ? "}" : "]";
      this.at += 1;
      this.take(SPACE);
      if (this.text.charAt(this.at) === close) {
        this.at += 1;
        return null;
      }
      this.open.push(close);
      const wrong = close === "}" ? this.key() : null;
      if (wrong !== null) return wrong;
    }
  }

  /** Reads what follows a value, up to the next one. */
  private afterValue(): Found | null {
    for (;;) {
      const close = this.open.at(-1);
      this.take(SPACE);
      if (close === undefined) return this.at < this.text.length ? this.fault("nothing more is expected here") : null;
      const char = this.text.charAt(this.at);
      if (char === ",") {
        this.at += 1;
        this.take(SPACE);
        if (this.text.charAt(this.at) === close) return this.fault(`a comma stands before the ${close}`);
        return close === "}" ? this.key() : null;
      }
      if (char !== close) return this.fault(`a comma or ${close} is expected`);
      this.at += 1;
      this.open.pop();
    }
  }

  private key(): Found | null {
    this.take(SPACE);
    if (this.text.charAt(this.at) !== '"') return this.fault('a name in "double quotes" is expected');
    const wrong = this.string();
    if (wrong !== null) return wrong;
    this.take(SPACE);
    if (this.text.charAt(this.at) !== ":") return this.fault("a colon is expected after the name");
    this.at += 1;
    return null;
  }

  private scalar(char: string): Found | null {
    if (char === '"') return this.string();
    if (this.take(WORD) || this.take(NUMBER)) {
      // A number or a word ends where a sign or a space stands.
      return /[\w.+-]/.test(this.text.charAt(this.at)) ? this.fault("this is no number and no word of JSON") : null;
    }
    return this.fault(char === "'" ? 'a text stands in "double quotes"' : "a value is expected");
  }

  private string(): Found | null {
    const start = this.at;
    this.at += 1;
    for (;;) {
      const char = this.text.charAt(this.at);
      if (char === "\\") {
        if (!this.take(ESCAPE)) return this.fault("a backslash is written \\\\");
        continue;
      }
      if (char === "\t") return this.fault("a tab within a text is written \\t");
      if (char === "" || char < " ") return { at: start, what: "this text is not closed" };
      this.at += 1;
      if (char === '"') return null;
    }
  }

  private take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null || found[0] === "") return false;
    this.at += found[0].length;
    return true;
  }

  private fault(what: string): Found {
    return { at: this.at, what: this.at >= this.text.length ? `the text ends; ${what}` : what };
  }
}
