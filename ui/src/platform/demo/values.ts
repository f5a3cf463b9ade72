import type { Cell } from "../../bindings/Cell";
import type { ColumnView } from "../../bindings/ColumnView";
import type { JsonChild } from "../../bindings/JsonChild";
import type { JsonChildren } from "../../bindings/JsonChildren";
import type { SortBy } from "../../bindings/SortBy";
import type { TableWindow } from "../../bindings/TableWindow";

/** A number by its digits, because a double would lose some of them. */
export class Exact {
  constructor(readonly digits: string) {}
}

export type Value = null | boolean | number | string | Exact | Value[] | { [key: string]: Value };
type Record_ = { [key: string]: Value };

/** The JSON text of a value, with exact digits. */
export function toJson(value: Value, indent = 0): string {
  if (value instanceof Exact) return value.digits;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const pad = indent > 0 ? `\n${"  ".repeat(indent)}` : "";
  const end = indent > 0 ? `\n${"  ".repeat(indent - 1)}` : "";
  const next = indent > 0 ? indent + 1 : 0;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[${value.map((v) => pad + toJson(v, next)).join(",")}${end}]`;
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return "{}";
  const colon = indent > 0 ? ": " : ":";
  return `{${entries.map(([k, v]) => `${pad}${JSON.stringify(k)}${colon}${toJson(v, next)}`).join(",")}${end}}`;
}

export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The value that a JSON pointer names. */
export function at(value: Value, pointer: string): Value {
  let here = value;
  for (const raw of pointer.split("/").slice(1)) {
    const key = raw.replaceAll("~1", "/").replaceAll("~0", "~");
    if (here === null || typeof here !== "object" || here instanceof Exact) return null;
    here = (Array.isArray(here) ? here[Number(key)] : here[key]) ?? null;
  }
  return here;
}

/** The records of a value: itself, or its first list of objects. */
export function records(value: Value): Record_[] {
  const isRecord = (v: Value): v is Record_ =>
    v !== null && typeof v === "object" && !Array.isArray(v) && !(v instanceof Exact);
  if (Array.isArray(value)) return value.filter(isRecord);
  if (!isRecord(value)) return [];
  const list = Object.values(value).find((v) => Array.isArray(v));
  return list === undefined ? [] : records(list);
}

/** A window into the records of a value, filtered and sorted as the host would. */
export function tableWindow(
  value: Value,
  columns: readonly ColumnView[],
  query: { sort: SortBy | null; filter: string; offset: number; limit: number },
): TableWindow {
  const all = records(value);
  const needle = query.filter.trim().toLowerCase();
  let rows = all.filter(
    (r) => needle === "" || Object.values(r).some((v) => show(v).toLowerCase().includes(needle)),
  );
  const sort = query.sort;
  if (sort !== null) {
    const sign = sort.descending ? -1 : 1;
    const key = sort.column;
    rows = [...rows].sort((a, b) => sign * compare(a[key] ?? null, b[key] ?? null));
  }
  return {
    matching: rows.length,
    total: all.length,
    offset: query.offset,
    rows: rows
      .slice(query.offset, query.offset + query.limit)
      .map((r) => columns.map((c) => cell(r[c.key], `/${all.indexOf(r)}/${c.key}`))),
  };
}

/** The children of a value, a page at a time. */
export function children(value: Value, pointer: string, offset: number, limit: number): JsonChildren {
  const here = at(value, pointer);
  const entries: [string, Value][] =
    here === null || typeof here !== "object" || here instanceof Exact
      ? []
      : Object.entries(here);
  return {
    pointer,
    kind: kindOf(here),
    count: entries.length,
    offset,
    children: entries.slice(offset, offset + limit).map(([key, v]): JsonChild => {
      const escaped = key.replaceAll("~", "~0").replaceAll("/", "~1");
      return { key, pointer: `${pointer}/${escaped}`, kind: kindOf(v), text: show(v), count: count(v) };
    }),
  };
}

function kindOf(value: Value): string {
  if (value === null) return "null";
  if (value instanceof Exact) return "number";
  if (Array.isArray(value)) return "array";
  return typeof value;
}

function count(value: Value): number {
  if (value === null || typeof value !== "object" || value instanceof Exact) return 0;
  return Object.keys(value).length;
}

function show(value: Value): string {
  return typeof value === "string" ? value : toJson(value);
}

function cell(value: Value | undefined, pointer: string): Cell {
  if (value === undefined) return { kind: "absent" };
  if (value === null) return { kind: "null" };
  if (typeof value === "boolean") return { kind: "bool", value };
  if (typeof value === "string") return { kind: "text", text: value };
  if (typeof value === "number" || value instanceof Exact) return { kind: "number", text: toJson(value) };
  return { kind: "nested", text: toJson(value).slice(0, 120), pointer };
}

function compare(a: Value, b: Value): number {
  if (a instanceof Exact && b instanceof Exact) {
    const [x, y] = [BigInt(a.digits), BigInt(b.digits)];
    return x < y ? -1 : x > y ? 1 : 0;
  }
  if (typeof a === "number" && typeof b === "number") return a - b;
  return show(a).localeCompare(show(b));
}
