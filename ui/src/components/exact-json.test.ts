import { describe, expect, it } from "vitest";
import { prettyJson, readExact } from "./exact-json";

describe("prettyJson", () => {
  it("keeps digits that a double would lose", () => {
    expect(prettyJson('{"id":9007199254740993,"x":[1.0,1e400,-0],"s":"a\\"{,}:b"}')).toBe(
      [
        "{",
        '  "id": 9007199254740993,',
        '  "x": [',
        "    1.0,",
        "    1e400,",
        "    -0",
        "  ],",
        '  "s": "a\\"{,}:b"',
        "}",
      ].join("\n"),
    );
  });

  it("keeps empty containers on one line and drops the writer's own spaces", () => {
    expect(prettyJson('{ "a" : { } ,\n"b":[ ] }')).toBe('{\n  "a": {},\n  "b": []\n}');
  });

  it("lays out a text that was cut", () => {
    expect(prettyJson('{"a":[1,"unfini')).toBe('{\n  "a": [\n    1,\n    "unfini');
  });

  it("changes nothing but white space", () => {
    const text = '{"a":"\\u00e9 \\\\","b":[true,null,12345678901234567890.123456789]}';
    expect(prettyJson(text).replace(/\n */g, "").replace(/": /g, '":')).toBe(text);
  });
});

describe("readExact", () => {
  it("keeps the text of numbers and the order and repetition of keys", () => {
    expect(readExact(' {"b":1915883588174806058,"a":[null,true,"x\\n"],"b":1.50} ')).toEqual({
      kind: "object",
      entries: [
        ["b", { kind: "number", text: "1915883588174806058" }],
        [
          "a",
          {
            kind: "array",
            items: [
              { kind: "null", text: "null" },
              { kind: "boolean", text: "true" },
              { kind: "string", text: "x\n" },
            ],
          },
        ],
        ["b", { kind: "number", text: "1.50" }],
      ],
    });
  });

  it.each(['{"a":}', "[1,]", "", "{", '"open', "1 2", "nul"])("refuses %j", (text) => {
    expect(readExact(text)).toBeNull();
  });

  it("gives up on hostile depth instead of overflowing", () => {
    expect(readExact("[".repeat(100_000) + "]".repeat(100_000))).toBeNull();
  });
});
