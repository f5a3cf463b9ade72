import { describe, expect, it } from "vitest";
import { jsonProblem, jsonProblemText } from "./json-problem";

describe("where a text stops being JSON", () => {
  it("is said with line, column and what should stand there, in the same words in every engine", () => {
    const cases: [string, string][] = [
      ['{\n  "a": 1,\n  "b": [1, 2\n}', "Line 4, column 1: a comma or ] is expected."],
      ['{"a": 1', "Line 1, column 8: the text ends; a comma or } is expected."],
      ['{"a": 1,\n}', "Line 2, column 1: a comma stands before the }."],
      ["[1, 2,]", "Line 1, column 7: a comma stands before the ]."],
      ["{a: 1}", 'Line 1, column 2: a name in "double quotes" is expected.'],
      ['{"a" 1}', "Line 1, column 6: a colon is expected after the name."],
      ['{"a": }', "Line 1, column 7: a value is expected."],
      ["{'a': 1}", 'Line 1, column 2: a name in "double quotes" is expected.'],
      ["['a']", 'Line 1, column 2: a text stands in "double quotes".'],
      ['["a\n"]', "Line 1, column 2: this text is not closed."],
      ['["a', "Line 1, column 2: this text is not closed."],
      ['["a\tb"]', "Line 1, column 4: a tab within a text is written \\t."],
      ['["C:\\dir"]', "Line 1, column 5: a backslash is written \\\\."],
      ["[01]", "Line 1, column 3: this is no number and no word of JSON."],
      ["[1.]", "Line 1, column 3: this is no number and no word of JSON."],
      ["truely", "Line 1, column 5: this is no number and no word of JSON."],
      ["{} {}", "Line 1, column 4: nothing more is expected here."],
      ["[undefined]", "Line 1, column 2: a value is expected."],
      ["", "Line 1, column 1: the text ends; a value is expected."],
    ];
    for (const [text, said] of cases) expect(jsonProblemText(text), text).toBe(said);
  });

  it("is nothing where the engine reads it, and something wherever it does not", () => {
    const good = '{"a": [1, -2.5e+3, true, null, "\\u00e4\\"", {}], "b": {"c": []}}';
    expect(jsonProblem(good)).toBeNull();
    // Every beginning of it, and every text that lacks one character of it.
    for (let at = 0; at < good.length; at += 1) {
      for (const text of [good.slice(0, at), good.slice(0, at) + good.slice(at + 1)]) {
        const problem = jsonProblem(text);
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(problem === null, text).toBe(isJson);
        if (problem !== null) expect(problem.what, text).not.toBe("");
      }
    }
  });

  it("is found however deep a text nests", () => {
    expect(jsonProblem("[".repeat(200_000))).toMatchObject({ line: 1, column: 200_001 });
    expect(jsonProblem(`["${"x".repeat(3_000_000)}" 1]`)).toMatchObject({ column: 3_000_005 });
  });
});
