/**
 * Where a JSON pointer leads in a text, so that the very characters can be shown.
 * Deliberately absent: values. No number is read; a text that was cut is searched as far as it goes.
 */

/** A part of a text, and whether it is what was pointed at or the nearest thing around it that is there. */
export interface PointerSpan {
  start: number;
  end: number;
  exact: boolean;
}

/** Finds the part of a JSON text that a pointer names; of a member that is missing, the object that lacks it. */
export function pointerSpan(text: string, pointer: string): PointerSpan | null {
  let start = skipSpace(text, 0);
  let end = valueEnd(text, start);
  if (start >= text.length) return null;
  for (const token of pointer.split("/").slice(1)) {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    const next = child(text, start, name);
    if (next === null) return { start, end, exact: false };
    start = next;
    end = valueEnd(text, start);
  }
  return { start, end, exact: true };
}

/** Where the value of a member or an item begins. */
function child(text: string, box: number, name: string): number | null {
  const isObject = text.charAt(box) === "{";
  if (!isObject && text.charAt(box) !== "[") return null;
  let at = skipSpace(text, box + 1);
  for (let index = 0; at < text.length && text.charAt(at) !== "}" && text.charAt(at) !== "]"; index += 1) {
    let key = String(index);
    if (isObject) {
      const end = stringEnd(text, at);
      key = decoded(text.slice(at, end));
      // Over the colon.
      at = skipSpace(text, skipSpace(text, end) + 1);
    }
    if (key === name) return at < text.length ? at : null;
    at = skipSpace(text, valueEnd(text, at));
    if (text.charAt(at) === ",") at = skipSpace(text, at + 1);
    else break;
  }
  return null;
}

function decoded(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted;
  }
}

function skipSpace(text: string, at: number): number {
  while (at < text.length && " \t\r\n".includes(text.charAt(at))) at += 1;
  return at;
}

function stringEnd(text: string, at: number): number {
  for (at += 1; at < text.length && text.charAt(at) !== '"'; at += 1) {
    if (text.charAt(at) === "\\") at += 1;
  }
  return Math.min(text.length, at + 1);
}

function valueEnd(text: string, at: number): number {
  const first = text.charAt(at);
  if (first === '"') return stringEnd(text, at);
  if (first === "{" || first === "[") {
    let depth = 0;
    while (at < text.length) {
      const char = text.charAt(at);
      if (char === '"') {
        at = stringEnd(text, at);
        continue;
      }
      if (char === "{" || char === "[") depth += 1;
      if (char === "}" || char === "]") depth -= 1;
      at += 1;
      if (depth === 0) return at;
    }
    return text.length;
  }
  while (at < text.length && !",]} \t\r\n".includes(text.charAt(at))) at += 1;
  return at;
}
