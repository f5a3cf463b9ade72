import { expect, it } from "vitest";
import { visible } from "./visible";

it("hides nothing", () => {
  const shown = (text: string): string => visible(text).map((piece) => (piece.hidden ? `<${piece.text}>` : piece.text)).join("");
  expect(shown("a\u202eb\u200bc\u{e0041}\r\n\td é 北 😀")).toBe("a<U+202E>b<U+200B>c<U+E0041><U+000D>\n\td é 北 😀");
  expect(shown("<U+202E>")).toBe("<U+202E>");
  expect(visible("")).toEqual([]);
});
