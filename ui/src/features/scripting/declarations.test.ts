import { describe, expect, it } from "vitest";
import { demoServers } from "../../platform/demo/servers";
import { errorLine, exampleScript, readDeclarations } from "./declarations";

const TEXT = `/** An integer. */
type Integer = number | bigint;
declare const console: {
  log(...values: unknown[]): void;
};
declare const tools: {
  /** Its own name is "my weather". */
  my_weather: {
    /**
     * The forecast.
     * By day. *\\/
     *
     * Its own name is "get-forecast".
     */
    get_forecast(args: {
      city: string;
      days?: Integer;
      unit: "c" | "f";
    }): Promise<{
      t?: Integer;
    }>;
    now(args?: Record<string, unknown>): Promise<unknown>;
  };
  sample: {
    /** Finds accounts. */
    search_customers(args: { query: string }): Promise<{ customers: unknown[] }>;
  };
};
`;

describe("readDeclarations", () => {
  it("finds servers, tools, parameters and the first line of each comment", () => {
    expect(readDeclarations(TEXT)).toEqual([
      {
        name: "my_weather",
        tools: [
          { name: "get_forecast", parameters: 'args: { city: string; days?: Integer; unit: "c" | "f"; }', doc: "The forecast." },
          { name: "now", parameters: "args?: Record<string, unknown>", doc: "" },
        ],
      },
      { name: "sample", tools: [{ name: "search_customers", parameters: "args: { query: string }", doc: "Finds accounts." }] },
    ]);
  });

  it("takes nothing from a text of another form", () => {
    expect(readDeclarations("declare const tools: any;")).toEqual([]);
    expect(readDeclarations("")).toEqual([]);
  });
});

describe("exampleScript", () => {
  it("calls a tool that is there, with what it needs", () => {
    expect(exampleScript(readDeclarations(TEXT))).toContain('await tools.my_weather.get_forecast({ city: "", unit: "c" });');
    expect(exampleScript(readDeclarations(TEXT).slice(1))).toContain('await tools.sample.search_customers({ query: "Globex" });');
  });

  it("takes the arguments from the tool's own schema, its examples first", () => {
    const only = readDeclarations(TEXT).slice(1);
    const views = (schema: object) => {
      const server = demoServers()[0]!;
      const tools = [{ ...server.tools[0]!, name: "search_customers", input_schema_json: JSON.stringify(schema) }];
      return [{ ...server, tools }];
    };
    const call = (schema: object) => /search_customers\((.*)\);/.exec(exampleScript(only, views(schema)))?.[1];
    expect(call({ required: ["query", "limit"], properties: { query: { type: "string" }, limit: { type: "integer", minimum: 5 } } })).toBe(
      '{ query: "Globex", limit: 5 }',
    );
    expect(call({ required: ["a-b"], properties: { "a-b": { type: "string", examples: ["x"] } } })).toBe('{ "a-b": "x" }');
    expect(call({ examples: [{ query: "Initech" }] })).toBe('{ query: "Initech" }');
    expect(call({ properties: { page: { type: "integer" } } })).toBe("");
  });

  it("says what to do when there is none", () => {
    expect(exampleScript([])).toContain("turn a server on");
  });
});

describe("errorLine", () => {
  it("reads the line that Rust names", () => {
    expect([errorLine("TypeError: x is not a function (line 3)"), errorLine("out of memory")]).toEqual([3, null]);
  });
});
