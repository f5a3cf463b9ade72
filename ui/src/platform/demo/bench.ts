import type { BenchForm } from "../../bindings/BenchForm";
import type { BenchJudgement } from "../../bindings/BenchJudgement";
import type { World } from "../fake";
import type { AnswerOf, CommandName, PayloadOf } from "../types";

type Names =
  | "bench_start" | "bench_tools" | "open_bench" | "change_bench" | "end_bench_call" | "judge_bench" | "bench_news" | "watch_for_bench" | "bench_fixtures"
  | "open_bench_fixture" | "save_bench_fixture";
type BenchHandlers = {
  [K in Names & CommandName]: (payload: PayloadOf<K>) => AnswerOf<K>;
};

const OUTPUT = '{"type":"object","properties":{"accounts":{"type":"array"}},"required":["accounts"]}';

/** The bench of the demonstration: what can be written is there, and no View runs. */
export function demoBench(world: World): BenchHandlers {
  const fixtures = new Map<string, BenchForm>();
  const refusal = (what: string, todo: string) => ({ what, safe: "Nothing was changed.", todo });
  const output = (form: BenchForm): BenchJudgement => {
    if (form.outcome.kind !== "result") return { kind: "not_checked", why: "no schema is declared" };
    if (form.outcome.json.includes('"accounts"')) return { kind: "fits" };
    return { kind: "violates", problems: [{ pointer: "", message: '"accounts" is a required property' }], more: false };
  };
  return {
    bench_start: () => null,
    bench_tools: ({ server_id }) =>
      (world.servers.find((it) => it.id === server_id)?.tools ?? [])
        .filter((it) => it.has_view)
        .map((it) => ({
          name: it.name,
          title: it.title,
          resource_uri: `ui://demo/${it.name}`,
          input_schema_json: it.input_schema_json,
          example_json: '{"query":"Globex"}',
          variants: [
            { title: "io.modelcontextprotocol/ui, structured", schema_json: OUTPUT, why_not: null, whole: false },
            { title: "assistant, content", schema_json: null, why_not: "it is made for others than Views", whole: false },
          ],
        })),
    open_bench: ({ form }) => {
      throw refusal(`The View of ${form.tool} cannot run in the demonstration.`, "Open it in the desktop application.");
    },
    change_bench: () => null,
    end_bench_call: () => null,
    judge_bench: ({ form }) => ({ input: { kind: "fits" }, output: output(form) }),
    bench_news: () => ({ kind: "same" }),
    watch_for_bench: () => null,
    bench_fixtures: () => [...fixtures.keys()].sort(),
    open_bench_fixture: ({ place }) => {
      const found = fixtures.get(place);
      if (found === undefined) throw refusal(`${place} cannot be read.`, "Choose another file.");
      return structuredClone(found);
    },
    save_bench_fixture: ({ place, form }) => {
      fixtures.set(place, structuredClone(form));
      return { path: `/home/you/usher/bench/${place}.json`, bytes: JSON.stringify(form).length };
    },
  };
}
