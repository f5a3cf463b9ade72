import type { CheckReport } from "../../bindings/CheckReport";
import type { CheckTool } from "../../bindings/CheckTool";
import type { CheckView } from "../../bindings/CheckView";
import type { FindingView } from "../../bindings/FindingView";
import type { ProviderView } from "../../bindings/ProviderView";
import type { RequirementView } from "../../bindings/RequirementView";
import type { World } from "../fake";
import type { AnswerOf, CommandName, PayloadOf } from "../types";
import { byteLength } from "./values";

type Names =
  | "plan_check" | "start_check" | "stop_check" | "checks" | "check_report" | "check_evidence" | "export_check" | "save_check" | "judge_pasted";
type ContractHandlers = {
  [K in Names & CommandName]: (payload: PayloadOf<K>) => AnswerOf<K>;
};

const ANSWER = '{"outputs":[{"audience":"user","format":"structured","structuredContent":{"accounts":12345678901234567890,"note":42}}],"isError":false}';

const rule = (id: string, text: string): RequirementView => ({ id, text });

const S07 = rule("S07", "Each structured output is validated against its own variant's schema before sending.");
const S03 = rule("S03", "(should) structured variants declare a schema, each tailored to its audience.");

const broken: FindingView = {
  requirement: S07,
  level: "broken",
  case: "normal call",
  by: "H04",
  text: 'user/structured does not fit its schema at /note: 42 is not of type "string"',
  pointer: "/outputs/0/structuredContent/note",
  problems: [
    { pointer: "/outputs/0/structuredContent/note", message: '42 is not of type "string"' },
    { pointer: "/outputs/0/structuredContent/accounts", message: '12345678901234567890 is not of type "string"' },
  ],
  todo: "Validate each structured output against its own variant's schema before it is sent; change the value or the schema.",
  evidence: 1,
};

const advice: FindingView = {
  requirement: S03,
  level: "advice",
  case: "declaration",
  by: "H18",
  text: "programmatic/structured has the very schema of user/structured; is it made for its audience?",
  pointer: "/outputVariants/2/schema",
  problems: [],
  todo: "Declare a schema for each structured variant, made for its audience.",
  evidence: 0,
};

function providers(): ProviderView[] {
  const plain = (name: string): ProviderView => ({ name, keywords: [], rewrites: [], sent_json: null, refusal: null });
  return [
    plain("OpenAI"),
    { ...plain("OpenAI strict"), keywords: [{ keyword: "properties that are not required", fate: "refused" }] },
    plain("Anthropic"),
    { ...plain("Gemini"), keywords: [{ keyword: "pattern", fate: "dropped" }] },
    plain("llama.cpp"),
  ];
}

/** A check that is done as soon as it is looked at twice. */
export function demoContract(world: World): ContractHandlers {
  const runs: { view: CheckView; tools: readonly CheckTool[]; looks: number; stopped: boolean }[] = [];
  const run = (id: string) => runs.find((it) => it.view.id === id);

  return {
    plan_check({ server_id }) {
      const server = world.servers.find((it) => it.id === server_id);
      const tools = (server?.tools ?? []).map((tool) => ({
        name: tool.name,
        description: tool.description,
        input_schema_json: tool.input_schema_json,
        warning: tool.read_only ? null : "its annotations say that it changes something (readOnlyHint is false)",
        normal_json: tool.read_only ? '{"query":"Globex"}' : null,
        lacks: tool.read_only ? null : '"title" is a text without an example, a default or an enumeration',
        empty_json: tool.read_only ? '{"query":"usher-check-finds-nothing"}' : null,
        failing_json: tool.read_only ? "{}" : null,
        providers: providers(),
      }));
      return { revisions: ["2026-12-01", "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"], tools };
    },
    start_check({ server_id, tools }) {
      const id = `check-${world.fresh()}`;
      const server_name = world.servers.find((it) => it.id === server_id)?.name ?? server_id;
      const state = { kind: "running", done: 0, of: tools.length, tool: tools[0]?.name ?? null } as const;
      runs.unshift({ view: { id, server_id, server_name, state }, tools, looks: 0, stopped: false });
      return id;
    },
    stop_check({ check_id }) {
      const found = run(check_id);
      if (found !== undefined) Object.assign(found, { stopped: true, looks: 9 });
      return null;
    },
    checks() {
      for (const it of runs) {
        it.looks += 1;
        if (it.looks > 2) it.view = { ...it.view, state: { kind: "done" } };
      }
      return runs.map((it) => it.view);
    },
    check_report({ check_id }): CheckReport {
      const found = run(check_id);
      const tools = found?.tools ?? [];
      const skipped = tools.filter((it) => it.normal_json === null);
      return {
        server: "usher-sample 0.1.0",
        revision: "2026-12-01",
        projected: "2026-07-28",
        stopped: found?.stopped ?? false,
        broken: 1,
        advice: 1,
        skipped: skipped.length,
        groups: [
          { tool: null, calls: 0, skipped: null, notes: [], findings: [], kept: [rule("W1", "stdout carries whole messages."), rule("W6", "An unknown method is an error.")], not_checked: [rule("W5", "A request is answered once.")] },
          ...tools.map((tool, i) => ({
            tool: tool.name,
            calls: tool.normal_json === null ? 0 : 8,
            skipped: tool.normal_json === null ? "its annotations say that it changes something (readOnlyHint is false); it is called if you allow it" : null,
            notes: [],
            findings: i === 0 ? [broken, advice] : [],
            kept: i === 0 ? [] : [S07, S03],
            not_checked: tool.normal_json === null ? [S07] : [],
          })),
        ],
      };
    },
    check_evidence: ({ evidence }) => ({
      title: evidence === 1 ? "normal call of search_customers" : "declaration of search_customers",
      arguments_json: evidence === 1 ? '{"query":"Globex"}' : null,
      text: ANSWER,
      bytes: byteLength(ANSWER),
      whole: true,
    }),
    export_check: ({ format }) => (format === "json" ? '{"server":"usher-sample"}' : "<testsuites/>"),
    save_check: ({ format }) => ({ path: `~/Downloads/contract-usher-sample.${format === "json" ? "json" : "xml"}`, bytes: 25 }),
    judge_pasted: ({ revision }) => ({
      shape: "a result with content and structuredContent",
      revision: revision ?? "2026-07-28",
      dialect: "2020-12, the default where $schema is absent",
      findings: [
        {
          ...broken,
          requirement: rule("L2", "structuredContent fits the declared outputSchema."),
          by: null,
          text: 'structuredContent does not fit its schema at /temperature: "22" is not of type "number"',
          pointer: "/structuredContent/temperature",
          problems: [],
        },
      ],
      kept: [rule("L4", "content is not empty.")],
      notes: [],
    }),
  };
}
