import type { FieldView } from "../../bindings/FieldView";

/** What stands in the fields: text for text and numbers, a switch, or the values that were chosen. */
export type Filled = Record<string, string | boolean | readonly string[]>;

const WHOLE = /^-?(0|[1-9]\d*)$/;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** What a form holds before anybody touches it. */
export function prefilled(fields: readonly FieldView[]): Filled {
  return Object.fromEntries(fields.map((field) => [field.name, first(field)]));
}

function first({ input, default_json }: FieldView): string | boolean | readonly string[] {
  // A number is kept as it was written, so that no digit changes.
  if (input.kind === "number") return default_json !== null && NUMBER.test(default_json) ? default_json : "";
  const given: unknown = default_json === null ? null : JSON.parse(default_json);
  if (input.kind === "switch") return given === true;
  if (input.kind === "many") return Array.isArray(given) ? given.filter((it) => typeof it === "string") : [];
  return typeof given === "string" ? given : "";
}

/** Whether nothing was filled in; of several choices none is as good as no answer. */
function isEmpty(value: Filled[string] | undefined): boolean {
  return value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
}

/** What is wrong with a field, or `null`. The server's own rules are checked again in Rust. */
export function wrong(field: FieldView, value: Filled[string] | undefined): string | null {
  if (field.input.kind === "switch") return null;
  if (isEmpty(value)) return field.required ? "This is needed." : null;
  if (field.input.kind !== "number" || typeof value !== "string") return null;
  if (!(field.input.whole ? WHOLE : NUMBER).test(value.trim())) return field.input.whole ? "A whole number." : "A number.";
  return null;
}

/** What a form holds, as a JSON object. What was left empty is left out. */
export function toJson(fields: readonly FieldView[], filled: Filled): string {
  const parts = fields.flatMap((field) => {
    const value = filled[field.name];
    if (value === undefined || isEmpty(value)) return [];
    const json = field.input.kind === "number" && typeof value === "string" ? value.trim() : JSON.stringify(value);
    return [`${JSON.stringify(field.name)}:${json}`];
  });
  return `{${parts.join(",")}}`;
}
