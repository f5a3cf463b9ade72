import { describe, expect, it } from "vitest";
import { pointerSpan } from "./json-pointer";

const at = (text: string, pointer: string): string | null => {
  const span = pointerSpan(text, pointer);
  return span === null ? null : `${span.exact ? "" : "in "}${text.slice(span.start, span.end)}`;
};

describe("a pointer in a text", () => {
  const text = ' { "a/b": [1, {"n": 12345678901234567890.10}, "x\\"]"], "é": {}, "\\u006b": null }';

  it("names the characters of a value", () => {
    expect(at(text, "/a~1b/1/n")).toBe("12345678901234567890.10");
    expect(at(text, "/a~1b/2")).toBe('"x\\"]"');
    expect(at(text, "/é")).toBe("{}");
    expect(at(text, "/k")).toBe("null");
    expect(at(text, "")).toBe(text.trim());
  });

  it("names what lacks it when it is missing", () => {
    expect(at(text, "/é/none")).toBe("in {}");
    expect(at(text, "/a~1b/0/deeper")).toBe("in 1");
  });

  it("ends where a text was cut", () => {
    expect(at('{"a":[1,2', "/a")).toBe("[1,2");
    expect(at('{"a":[1,2', "/b")).toBe('in {"a":[1,2');
    expect(at("", "/b")).toBeNull();
  });
});
