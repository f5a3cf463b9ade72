import { describe, expect, it } from "vitest";
import type { FieldView } from "../../bindings/FieldView";
import { prefilled, toJson, wrong } from "./form";

function field(name: string, input: FieldView["input"], more: Partial<FieldView> = {}): FieldView {
  return { name, title: name, description: null, required: false, default_json: null, input, ...more };
}

const text = { kind: "text", format: null, max: null } as const;
const whole = { kind: "number", whole: true, min: null, max: null } as const;

describe("a form", () => {
  it("begins with what the server gave, to the digit", () => {
    const fields = [
      field("big", whole, { default_json: "9007199254740993" }),
      field("on", { kind: "switch" }, { default_json: "true" }),
      field("tags", { kind: "many", choices: [] }, { default_json: '["a"]' }),
      field("name", text),
    ];
    const filled = prefilled(fields);
    expect(filled).toEqual({ big: "9007199254740993", on: true, tags: ["a"], name: "" });
    expect(toJson(fields, filled)).toBe('{"big":9007199254740993,"on":true,"tags":["a"]}');
  });

  it("says what is wrong", () => {
    expect(wrong(field("n", text, { required: true }), "")).toBe("This is needed.");
    expect(wrong(field("n", text), "")).toBeNull();
    expect(wrong(field("n", whole), "1.5")).toBe("A whole number.");
    expect(wrong(field("n", { ...whole, whole: false }), "1,5")).toBe("A number.");
    expect(wrong(field("n", { ...whole, whole: false }), " -1.5e3 ")).toBeNull();
    expect(wrong(field("n", { kind: "switch" }, { required: true }), false)).toBeNull();
  });

  it("leaves out a choice of several in which nothing was chosen, and wants one where it is needed", () => {
    const many: FieldView["input"] = { kind: "many", choices: [{ value: "a", title: "A" }] };
    expect(toJson([field("tags", many)], { tags: [] })).toBe("{}");
    expect(wrong(field("tags", many), [])).toBeNull();
    expect(wrong(field("tags", many, { required: true }), [])).toBe("This is needed.");
    expect(wrong(field("tags", many, { required: true }), ["a"])).toBeNull();
  });

  it("writes names and texts that need quotes", () => {
    expect(toJson([field('a"b', text)], { 'a"b': 'x"\n' })).toBe('{"a\\"b":"x\\"\\n"}');
  });
});
