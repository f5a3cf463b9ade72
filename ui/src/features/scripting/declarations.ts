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

/** A script that runs with the servers that are there. */
export function exampleScript(servers: readonly DeclaredServer[]): string {
  const preferred = servers.flatMap((server) => server.tools.map((tool) => ({ server, tool })));
  const picked = preferred.find(({ tool }) => /^(search|list|get|find)/.test(tool.name)) ?? preferred[0];
  if (picked === undefined) {
    return "// No tool is there for scripts: turn a server on.\nconsole.log(1 + 1);\n";
  }
  const call = `tools.${picked.server.name}.${picked.tool.name}`;
  return `// The value that this tool made for programs; nothing of it reaches the model.\nconst result = await ${call}(${argumentsFor(picked.tool.parameters)});\nconsole.log(Object.keys(result ?? {}));\nreturn result;\n`;
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

function argumentsFor(parameters: string): string {
  const required = [...parameters.matchAll(/(?:^|[{;] *)([\w$]+): (string|number|Integer|boolean|"[^"]*")/g)];
  const fields = required.flatMap(([, name, type]) => {
    if (name === undefined || type === undefined || name === "args") return [];
    const value = type === "string" ? (name.includes("query") ? '"Globex"' : '""') : type === "boolean" ? "true" : type.startsWith('"') ? type : "1";
    return [`${name}: ${value}`];
  });
  return fields.length === 0 ? (parameters.startsWith("args?") || parameters === "" ? "" : "{}") : `{ ${fields.join(", ")} }`;
}
