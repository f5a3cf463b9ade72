/**
 * What the bench holds: the texts that an author writes and what was chosen. It stays while one looks at another tab.
 * Deliberately absent: the View itself, which the tab starts, and the disk; a fixture that shall last is saved.
 */
import type { BenchAnswer } from "../../bindings/BenchAnswer";
import type { BenchContext } from "../../bindings/BenchContext";
import type { BenchFault } from "../../bindings/BenchFault";
import type { BenchForm } from "../../bindings/BenchForm";
import type { BenchOutcome } from "../../bindings/BenchOutcome";
import type { BenchTool } from "../../bindings/BenchTool";
import { prettyJson } from "../../components/exact-json";
import type { Store } from "../../state/store.svelte";

export type EndingKind = BenchOutcome["kind"];

/** A fault as it is edited. */
export interface FaultDraft {
  method: string;
  delay: number;
  fails: boolean;
  code: number;
  message: string;
}

/** The methods that a View asks for, to be chosen from. */
export const METHODS = [
  "*", "tools/call", "tools/list", "resources/read", "resources/list", "resources/templates/list", "prompts/list", "ui/open-link", "ui/message", "ui/update-model-context",
] as const;

/** What a call is cancelled with when nothing else is written. */
const CANCELLED = "The user cancelled the call.";
const NOTHING: BenchContext = { theme: null, locale: null, time_zone: null, display_mode: null, width: null, height: null, touch: false, safe_area: null };

/** What is written for one tool: what its fixture holds, and where that is kept. */
const DRAFTED = ["input", "ending", "output", "reason", "fromFixture", "answers", "faults", "relaxed", "context", "place", "kept"] as const;
type Draft = Pick<Bench, (typeof DRAFTED)[number]>;

export class Bench {
  serverId = $state("");
  tool = $state("");
  input = $state("{}");
  ending = $state<EndingKind>("waiting");
  /** What a result or an error carries. */
  output = $state("");
  reason = $state(CANCELLED);
  fromFixture = $state(false);
  answers = $state<BenchAnswer[]>([]);
  faults = $state<FaultDraft[]>([]);
  relaxed = $state(false);
  context = $state.raw<BenchContext>(NOTHING);
  /** In how many pieces the input comes; none when it comes at once. */
  pieces = $state(0);
  /** Milliseconds between two pieces. */
  pace = $state(300);
  /** The name or the path that stands in the field. */
  place = $state("");
  /** The one under which it was last saved or opened; empty before. */
  kept = "";
  /** Whether the View is started again when its document changes. */
  follows = $state(true);
  /** For each server, the files whose changes start it again. */
  watched = $state.raw<Readonly<Record<string, readonly string[]>>>({});
  /** Whether the View should run. */
  runs = $state(false);

  /** What was written for the tools that are not chosen now. */
  private readonly drafts = new Map<string, Draft>();

  /** Goes to another server, none of whose tools is chosen yet. */
  turnTo(serverId: string): void {
    this.putAside();
    this.serverId = serverId;
    this.tool = "";
  }

  /** Takes a tool that was chosen, with what was written for it before, or else with what its declaration offers. */
  choose(serverId: string, tool: BenchTool): void {
    this.putAside();
    this.serverId = serverId;
    this.tool = tool.name;
    const draft = this.drafts.get(keyOf(serverId, tool.name));
    if (draft !== undefined) {
      Object.assign(this, draft);
      return;
    }
    this.input = offered(tool);
    this.ending = "waiting";
    this.output = "";
    this.reason = CANCELLED;
    this.fromFixture = false;
    this.answers = [];
    this.faults = [];
    this.place = this.kept = "";
    // The surroundings and the policy that stand are as good for it.
  }

  /** Takes what was kept in a place. An empty input is left to the tool's declaration. */
  take(serverId: string, form: BenchForm, place: string): void {
    this.putAside();
    this.serverId = serverId;
    this.tool = form.tool;
    this.place = this.kept = place;
    this.input = form.input_json === "" ? "" : prettyJson(form.input_json);
    this.ending = form.outcome.kind;
    this.output = form.outcome.kind === "result" || form.outcome.kind === "error" ? prettyJson(form.outcome.json) : "";
    this.reason = form.outcome.kind === "cancelled" ? form.outcome.reason : CANCELLED;
    this.fromFixture = form.from_fixture;
    this.answers = form.answers.map((it) => ({ tool: it.tool, json: prettyJson(it.json) }));
    this.faults = form.faults.map((it) => ({
      method: it.method,
      delay: it.delay_ms,
      fails: it.fail !== null,
      code: it.fail?.code ?? -32000,
      message: it.fail?.message ?? "",
    }));
    this.relaxed = form.relaxed;
    this.context = form.context;
  }

  /** A place that stands in the field and was never used may be another tool's, so that it is not the draft's. */
  private putAside(): void {
    if (this.tool === "") return;
    const draft = Object.fromEntries(DRAFTED.map((it) => [it, this[it]])) as unknown as Draft;
    this.drafts.set(keyOf(this.serverId, this.tool), { ...draft, place: this.kept });
  }

  form(server: string): BenchForm {
    return {
      server,
      tool: this.tool,
      input_json: this.input,
      outcome: this.outcome(),
      from_fixture: this.fromFixture,
      answers: this.answers.map((it) => ({ ...it })),
      faults: this.faults.map(faultOf),
      relaxed: this.relaxed,
      context: this.context,
    };
  }

  surround(change: Partial<BenchContext>): void {
    this.context = { ...this.context, ...change };
  }

  outcome(): BenchOutcome {
    switch (this.ending) {
      case "waiting":
        return { kind: "waiting" };
      case "result":
      case "error":
        return { kind: this.ending, json: this.output };
      case "cancelled":
        return { kind: "cancelled", reason: this.reason };
    }
  }
}

function keyOf(serverId: string, tool: string): string {
  return JSON.stringify([serverId, tool]);
}

/** The input that a tool's declaration offers. */
export function offered(tool: BenchTool): string {
  return tool.example_json === null ? "{}" : prettyJson(tool.example_json);
}

function faultOf(it: FaultDraft): BenchFault {
  const whole = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, Math.trunc(Number.isFinite(value) ? value : 0)));
  return {
    method: it.method,
    delay_ms: whole(it.delay, 0, 600_000),
    fail: it.fails ? { code: whole(it.code, -2_147_483_648, 2_147_483_647), message: it.message } : null,
  };
}

/** Whether a text is JSON, so that it can be sent at all. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What of that which is written cannot be sent yet, as a sentence; `null` if all can. */
export function incomplete(bench: Bench): string | null {
  if (bench.tool === "") return "No tool is chosen.";
  const written: [string, string][] = [["The input", bench.input]];
  if (hasOutput(bench.outcome())) written.push(["The output", bench.output]);
  for (const it of bench.answers) written.push([`The answer to ${it.tool === "" ? "a tool" : it.tool}`, it.json]);
  const wrong = written.find(([, text]) => !isJson(text));
  if (wrong === undefined) return null;
  return wrong[1].trim() === "" ? `${wrong[0]} is empty.` : `${wrong[0]} is no JSON.`;
}

/** Whether the call ends with an output. One that fails may have none. */
export function hasOutput(outcome: BenchOutcome): boolean {
  return outcome.kind === "result" || (outcome.kind === "error" && outcome.json.trim() !== "");
}

/** What can be judged of a bench that is written on: what is no JSON yet is left out, and costs the rest no verdict. */
export function judgeable(bench: Bench, form: BenchForm): BenchForm | null {
  if (bench.tool === "" || !isJson(bench.input)) return null;
  const outcome: BenchOutcome = hasOutput(form.outcome) && !isJson(bench.output) ? { kind: "waiting" } : form.outcome;
  return { ...form, outcome, answers: form.answers.filter((it) => isJson(it.json)) };
}

const benches = new WeakMap<Store, Bench>();

/** The bench of a window. */
export function benchOf(store: Store): Bench {
  const there = benches.get(store);
  if (there !== undefined) return there;
  const bench = new Bench();
  benches.set(store, bench);
  return bench;
}
