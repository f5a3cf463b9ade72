import { describe, expect, it } from "vitest";
import { codePieces } from "./highlight";

const looks = (language: string, text: string) => codePieces(language, text).filter((piece) => piece.look !== "").map((piece) => `${piece.look} ${piece.text}`);

describe("code", () => {
  it("is cut into what its words are", () => {
    expect(looks("JS", 'const a = await f("x", 12n); // why')).toEqual(["keyword const", "keyword await", "name f", 'string "x"', "number 12n", "comment // why"]);
    expect(looks("ts", "let a: string = `b`;")).toContain("string `b`");
    expect(looks("json", '{"id": 9007199254740993, "on": true, "none": null}')).toEqual([
      'string "id"',
      "number 9007199254740993",
      'string "on"',
      "keyword true",
      'string "none"',
      "keyword null",
    ]);
  });

  it.each([
    ["js", "a\r\n\n\tb <script>alert(1)</script> \u{1F600}\n"],
    ["json", '{"cut": [1, 2, "thr'],
    ["json", "not json at all"],
    ["ts", "class { ((("],
    ["tsx", ""],
    ["cobol", "MOVE A TO B.\n"],
    ["js", "x".repeat(50_001)],
  ])("in %s is never changed", (language, text) => {
    expect(codePieces(language, text).map((piece) => piece.text).join("")).toBe(text);
  });
});
