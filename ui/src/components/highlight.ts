/**
 * What the words of JavaScript, TypeScript and JSON are. Loaded when such a piece of code is first shown.
 * Deliberately absent: markup. It gives text in pieces, and the pieces joined are the text.
 */
import { highlightCode, tagHighlighter, tags } from "@lezer/highlight";
import { parser } from "@lezer/javascript";

/** A piece of code, and what it is drawn as; empty for plain. */
export interface CodePiece {
  text: string;
  look: "" | "keyword" | "string" | "number" | "name" | "comment";
}

/** Longer code is shown plain: it is parsed anew with each piece of a growing answer. */
const LONGEST = 50_000;

const PARSERS = {
  script: parser.configure({ dialect: "jsx" }),
  typed: parser.configure({ dialect: "ts" }),
  typedMarkup: parser.configure({ dialect: "ts jsx" }),
  // A value by itself, which at the start of a script would be a block.
  value: parser.configure({ top: "SingleExpression" }),
};

const LOOKS = tagHighlighter([
  { tag: [tags.keyword, tags.bool, tags.null], class: "keyword" },
  { tag: [tags.string, tags.regexp], class: "string" },
  { tag: tags.number, class: "number" },
  { tag: tags.comment, class: "comment" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.definition(tags.propertyName)], class: "name" },
]);

/** Cuts code into pieces by what they are; one plain piece where the language is not known or the code is too long. */
export function codePieces(language: string, text: string): CodePiece[] {
  const parse = parserOf(language.toLowerCase());
  if (parse === null || text.length > LONGEST) return [{ text, look: "" }];
  const pieces: CodePiece[] = [];
  const put = (piece: string, look: string) => {
    const last = pieces.at(-1);
    if (last !== undefined && last.look === look) last.text += piece;
    else pieces.push({ text: piece, look: look as CodePiece["look"] });
  };
  highlightCode(text, parse.parse(text), LOOKS, put, () => put("\n", ""));
  return pieces;
}

function parserOf(language: string): typeof parser | null {
  switch (language) {
    case "js":
    case "javascript":
    case "mjs":
    case "jsx":
      return PARSERS.script;
    case "ts":
    case "typescript":
    case "mts":
      return PARSERS.typed;
    case "tsx":
      return PARSERS.typedMarkup;
    case "json":
    case "jsonc":
    case "json5":
      return PARSERS.value;
    default:
      return null;
  }
}
