import type { ServerView } from "../../bindings/ServerView";

/**
 * Reads the names out of the TypeScript declarations that Rust writes, for completion and for the example.
 * Deliberately absent: a TypeScript parser. The text is Rust's own and has one form; what does not fit it is left out.
 */

/** A tool as scripts call it. */
export interface DeclaredTool {
  name: string;
  /** Its parameters, on one line. */
  parameters: string;
  /** The first sentence of its comment. */
  doc: string;
}

/** A server as scripts name it. */
export interface DeclaredServer {
  name: string;
  tools: DeclaredTool[];
}

const SERVER = /^ {2}([\p{ID_Start}$_][\p{ID_Continue}$]*): \{$/u;
const TOOL = /^ {4}([\p{ID_Start}$_][\p{ID_Continue}$]*)\((.*)$/u;

/** The servers and their tools, in order. */
export function readDeclarations(text: string): DeclaredServer[] {
  const servers: DeclaredServer[] = [];
  let doc = "";
  let inTools = false;
  const lines = text.split("\n");
  lines.forEach((line, index) => {
    if (line === "declare const tools: {") inTools = true;
    else if (line === "};") inTools = false;
    if (!inTools) return;
    const comment = /^ {4}(?:\/\*\*| \*) ?(.*?)(?: ?\*\/)?$/.exec(line);
    if (comment?.[1] !== undefined) {
      if (line.startsWith("    /**")) doc = "";
      if (doc === "") doc = comment[1].trim();
      return;
    }
    const server = SERVER.exec(line)?.[1];
    if (server !== undefined) servers.push({ name: server, tools: [] });
    const tool = TOOL.exec(line);
    if (tool?.[1] !== undefined) {
      servers.at(-1)?.tools.push({ name: tool[1], parameters: parameters(lines, index), doc });
      doc = "";
    }
  });
  return servers;
}

/** A script that runs as it stands with the servers that are there. */
export function exampleScript(servers: readonly DeclaredServer[], views: readonly ServerView[] = []): string {
  const preferred = servers.flatMap((server) => server.tools.map((tool) => ({ server, tool })));
  const picked = preferred.find(({ tool }) => /^(search|list|get|find)/.test(tool.name)) ?? preferred[0];
  if (picked === undefined) {
    return "// No tool is there for scripts: turn a server on.\nconsole.log(1 + 1);\n";
  }
  const call = `tools.${picked.server.name}.${picked.tool.name}`;
  return `// The value that this tool made for programs; nothing of it reaches the model.\nconst result = await ${call}(${fromSchema(picked.tool.name, views) ?? argumentsFor(picked.tool.parameters)});\nconsole.log(Object.keys(result ?? {}));\nreturn result;\n`;
}

/** The line of the user's source that an error names. */
export function errorLine(message: string): number | null {
  const line = /\(line (\d+)\)/.exec(message)?.[1];
  return line === undefined ? null : Number(line);
}

function parameters(lines: readonly string[], from: number): string {
  let depth = 0;
  let text = "";
  for (const line of lines.slice(from, from + 60)) {
    for (const char of `${line.trim()} `) {
      if (char === ")" && depth === 1) return text.trim();
      if ("({[".includes(char)) depth += 1;
      if (")}]".includes(char)) depth -= 1;
      if (depth > 0 && !(char === "(" && depth === 1)) text += char;
    }
  }
  return text.trim();
}

/** What a tool's schema asks for: what it gives as an example, or something of the right kind. `null` without a schema to read. */
function fromSchema(tool: string, views: readonly ServerView[]): string | null {
  const named = views.flatMap((server) => server.tools).find((one) => one.name.replace(/[^\w$]/g, "_") === tool);
  if (named === undefined) return null;
  let schema: unknown;
  try {
    schema = JSON.parse(named.input_schema_json);
  } catch {
    return null;
  }
  if (!isObject(schema)) return null;
  const given = Array.isArray(schema.examples) ? schema.examples[0] : undefined;
  if (isObject(given)) return literal(given);
  const required = Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === "string") : [];
  const properties = isObject(schema.properties) ? schema.properties : {};
  const fields = Object.fromEntries(required.map((name) => [name, valueFor(name, properties[name])]));
  return required.length === 0 ? "" : literal(fields);
}

function valueFor(name: string, schema: unknown): unknown {
  if (!isObject(schema)) return "";
  if (Array.isArray(schema.examples) && schema.examples.length > 0) return schema.examples[0];
  for (const given of [schema.const, schema.default]) if (given !== undefined) return given;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const type: unknown = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "string" || type === undefined) return /query|search|^q$/i.test(name) ? "Globex" : "";
  if (type === "integer" || type === "number") return typeof schema.minimum === "number" ? schema.minimum : 1;
  return { boolean: true, array: [], object: {}, null: null }[String(type)] ?? "";
}

/** As a person writes it: names without quotation marks where the language allows that. */
function literal(fields: Record<string, unknown>): string {
  const written = Object.entries(fields).map(([name, value]) => {
    const key = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) ? name : JSON.stringify(name);
    return `${key}: ${JSON.stringify(value)}`;
  });
  return written.length === 0 ? "" : `{ ${written.join(", ")} }`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function argumentsFor(parameters: string): string {
  const required = [...parameters.matchAll(/(?:^|[{;] *)([\w$]+): (string|number|Integer|boolean|"[^"]*")/g)];
  const fields = required.flatMap(([, name, type]) => {
    if (name === undefined || type === undefined || name === "args") return [];
    const value = type === "string" ? (name.includes("query") ? '"Globex"' : '""') : type === "boolean" ? "true" : type.startsWith('"') ? type : "1";
    return [`${name}: ${value}`];
  });
  return fields.length === 0 ? (parameters.startsWith("args?") || parameters === "" ? "" : "{}") : `{ ${fields.join(", ")} }`;
}
