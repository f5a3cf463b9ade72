// The script's world, made before the script runs. It takes the host's four functions and the names of the tools, and gives back
// what the host calls. Built-ins are taken at the start, so that a script that replaces them harms only itself.
(function (host, catalog) {
  "use strict";
  const { parse, stringify, rawJSON } = JSON;
  const { isArray } = Array;
  const { isSafeInteger } = Number;
  const { create, freeze, keys, defineProperty, getPrototypeOf } = Object;
  const { Error, TypeError, String, BigInt, Map, Set, Promise, Proxy, RangeError, Date, RegExp, Symbol } = globalThis;
  const digits = /^-?\d+$/;

  // A double holds integers up to 2^53 - 1. What is beyond becomes a BigInt, so that no digit is lost silently.
  const exact = (key, value, { source }) =>
    typeof value === "number" && !isSafeInteger(value) && source !== undefined && digits.test(source)
      ? BigInt(source)
      : value;
  const fromText = (text) => (/\d{16}/.test(text) ? parse(text, exact) : parse(text));
  const toText = (value) =>
    stringify(value, (key, it) => (typeof it === "bigint" ? rawJSON(String(it)) : it)) ?? "null";

  const pending = new Map();
  const sleeping = new Map();

  const call = (server, tool, args = {}) => {
    if (typeof args !== "object" || args === null || isArray(args)) {
      throw new TypeError(`${server}.${tool} takes one object with named arguments`);
    }
    const text = toText(args);
    // The error is made here, where the stack still names the line of the script.
    const site = new Error();
    return new Promise((resolve, reject) => {
      pending.set(host.call(server, tool, text), { resolve, reject, site, server, tool });
    });
  };

  // A name that does not exist is an error that says which do; "then" and symbols are asked for by the language itself.
  const guarded = (object, what) =>
    new Proxy(freeze(object), {
      get(target, key) {
        if (key in target || typeof key === "symbol" || key === "then" || key === "toJSON") return target[key];
        throw new TypeError(`${what} has no ${key}; it has: ${keys(target).join(", ") || "nothing"}`);
      },
    });

  const tools = create(null);
  for (const { names, members } of catalog) {
    const group = create(null);
    for (const member of members) {
      const run = (args) => call(names[0], member[0], args);
      for (const name of member) defineProperty(group, name, { value: run, enumerable: name === member[member.length - 1] });
    }
    const server = guarded(group, names[0]);
    for (const name of names) defineProperty(tools, name, { value: server, enumerable: name === names[names.length - 1] });
  }
  defineProperty(globalThis, "tools", { value: guarded(tools, "tools"), enumerable: true });

  const quote = (text) => stringify(text);
  const named = (key) => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key));

  // Text for people: one line while it is short, an indented tree beyond, and honest about what is left out.
  const inspect = (value, depth = 0, seen = new Set()) => {
    switch (typeof value) {
      case "string":
        return depth === 0 ? value : quote(value);
      case "bigint":
        return `${value}n`;
      case "function":
        return `[function ${value.name || "anonymous"}]`;
      case "object":
        break;
      default:
        return Object.is(value, -0) ? "-0" : String(value);
    }
    if (value === null) return "null";
    if (value instanceof Error) return describe(value).text;
    if (value instanceof Date) return isNaN(value) ? "Invalid Date" : value.toISOString();
    if (value instanceof RegExp) return String(value);
    if (value instanceof Promise) return "[promise: await it to see its value]";
    if (seen.has(value)) return "[circular]";
    if (depth > 6) return isArray(value) ? "[…]" : "{…}";
    seen.add(value);
    const inner = (it) => inspect(it, depth + 1, seen);
    let open = "{", close = "}", parts = [], rest = 0;
    const add = (count, make) => {
      if (count < 100) parts.push(make());
      else rest += 1;
    };
    if (isArray(value) || ArrayBuffer.isView(value)) {
      [open, close] = ["[", "]"];
      const length = value.length ?? 0;
      for (let i = 0; i < length && i < 100; i++) add(i, () => (i in value ? inner(value[i]) : "empty"));
      rest = Math.max(0, length - 100);
    } else if (value instanceof Map) {
      open = `Map(${value.size}) {`;
      let i = 0;
      for (const [key, it] of value) add(i++, () => `${inner(key)} => ${inner(it)}`);
    } else if (value instanceof Set) {
      open = `Set(${value.size}) {`;
      let i = 0;
      for (const it of value) add(i++, () => inner(it));
    } else {
      const name = getPrototypeOf(value)?.constructor?.name;
      if (name && name !== "Object") open = `${name} {`;
      let i = 0;
      for (const key of keys(value)) add(i++, () => `${named(key)}: ${inner(value[key])}`);
    }
    seen.delete(value);
    if (rest > 0) parts.push(`… ${rest} more`);
    if (parts.length === 0) return open + close;
    const line = parts.join(", ");
    if (line.length <= 72 && !line.includes("\n")) return close === "]" ? `[${line}]` : `${open} ${line} ${close}`;
    const pad = "  ".repeat(depth + 1);
    return `${open}\n${pad}${parts.join(`,\n${pad}`)}\n${"  ".repeat(depth)}${close}`;
  };

  const table = (data) => {
    if (typeof data !== "object" || data === null) return inspect(data);
    const rows = keys(data).slice(0, 1000).map((key) => [key, data[key]]);
    const columns = [];
    for (const [, row] of rows) {
      const own = typeof row === "object" && row !== null ? keys(row) : ["value"];
      for (const key of own) if (columns.length < 30 && !columns.includes(key)) columns.push(key);
    }
    const cell = (row, key) => {
      const value = typeof row === "object" && row !== null ? row[key] : key === "value" ? row : undefined;
      return value === undefined ? "" : inspect(value, 6).replaceAll("\n", " ").slice(0, 60);
    };
    const lines = [["", ...columns], ...rows.map(([key, row]) => [key, ...columns.map((it) => cell(row, it))])];
    const widths = lines[0].map((_, i) => Math.max(...lines.map((line) => line[i].length)));
    const text = lines.map((line) => line.map((it, i) => it.padEnd(widths[i])).join(" | ").trimEnd());
    text.splice(1, 0, widths.map((it) => "-".repeat(it)).join("-|-"));
    const more = keys(data).length - rows.length;
    return text.join("\n") + (more > 0 ? `\n… ${more} more rows` : "");
  };

  const describe = (error) => {
    if (!(error instanceof Error)) return { text: inspect(error), stack: "" };
    const name = String(error.name || "Error");
    const message = String(error.message ?? "");
    return { text: message ? `${name}: ${message}` : name, stack: String(error.stack ?? "") };
  };

  const print = (level, text) => host.log(level, text.toWellFormed());
  const say = (level) => (...values) => print(level, values.map((it) => inspect(it)).join(" "));
  const console = { log: say("log"), debug: say("log"), info: say("info"), warn: say("warn"), error: say("error") };
  console.table = (data) => print("log", table(data));
  defineProperty(globalThis, "console", { value: freeze(console), enumerable: true });

  const sleep = (ms) =>
    new Promise((resolve) => {
      sleeping.set(host.sleep(Number(ms) || 0), resolve);
    });
  defineProperty(globalThis, "sleep", { value: sleep, enumerable: true });

  return {
    run(main) {
      const fail = (error) => {
        try {
          const { text, stack } = describe(error);
          host.failed(text.toWellFormed(), stack.toWellFormed());
        } catch {
          host.failed("The script threw an error that cannot be read.", "");
        }
      };
      main().then((value) => host.returned(toText(value))).catch(fail);
    },
    settle(id, ok, text) {
      const open = pending.get(id);
      if (!open) return;
      pending.delete(id);
      if (!ok) {
        open.site.name = "ToolError";
        open.site.message = `${open.server}.${open.tool}: ${text}`;
        open.reject(open.site);
        return;
      }
      try {
        open.resolve(fromText(text));
      } catch (error) {
        open.reject(error);
      }
    },
    wake(id) {
      sleeping.get(id)?.();
      sleeping.delete(id);
    },
  };
})
