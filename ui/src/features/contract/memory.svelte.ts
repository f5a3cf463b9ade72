import type { CheckPlanTool } from "../../bindings/CheckPlanTool";
import type { CheckTool } from "../../bindings/CheckTool";
import type { PastedView } from "../../bindings/PastedView";
import type { Store } from "../../state/store.svelte";
import { prettyJson } from "../../components/exact-json";

/** What the user chose for one tool. Arguments are JSON as text; an empty text leaves the choice to the tool's declaration. */
export class ToolDraft {
  chosen = $state(true);
  /** Whether it is called although it warns; said by the user, for this tool alone. */
  allowed = $state(false);
  normal = $state("");
  empty = $state("");
  failing = $state("");

  constructor(tool: CheckPlanTool) {
    this.normal = laidOut(tool.normal_json);
    this.empty = laidOut(tool.empty_json);
    this.failing = laidOut(tool.failing_json);
  }

  /** What is asked of the host. */
  order(name: string): CheckTool {
    const text = (it: string): string | null => (it.trim() === "" ? null : it);
    return {
      name,
      allowed: this.allowed,
      normal_json: text(this.normal),
      empty_json: text(this.empty),
      failing_json: text(this.failing),
    };
  }
}

function laidOut(json: string | null): string {
  return json === null ? "" : prettyJson(json);
}

/** What becomes of a tool in the next check, and why. */
export type Fate = { kind: "called" } | { kind: "warns"; why: string } | { kind: "lacks"; why: string } | { kind: "left" };

export function fateOf(tool: CheckPlanTool, draft: ToolDraft): Fate {
  if (!draft.chosen) return { kind: "left" };
  if (tool.warning !== null && !draft.allowed) return { kind: "warns", why: tool.warning };
  if (draft.normal.trim() === "" && tool.lacks !== null) return { kind: "lacks", why: tool.lacks };
  return { kind: "called" };
}

/** What the tab keeps while one looks at another. Deliberately absent: the disk; a report that shall last is saved. */
export class ContractMemory {
  page = $state<"server" | "pasted">("server");
  serverId = $state("");
  revision = $state("");
  seconds = $state(30);
  result = $state("");
  schema = $state("");
  readAs = $state("");
  pasted = $state.raw<PastedView | null>(null);
  /** The tool that is open. */
  open = $state<string | null>(null);
  /** Whether what is called is shown; it makes room for a report. */
  showsSetup = $state(true);
  readonly #drafts = new Map<string, ToolDraft>();

  /** What was chosen for a tool; from its declaration until something is chosen. */
  draft(serverId: string, tool: CheckPlanTool): ToolDraft {
    const key = `${serverId} ${tool.name} ${tool.input_schema_json}`;
    const there = this.#drafts.get(key);
    if (there !== undefined) return there;
    const draft = new ToolDraft(tool);
    this.#drafts.set(key, draft);
    return draft;
  }
}

const memories = new WeakMap<Store, ContractMemory>();

/** The memory of a window. */
export function contractMemory(store: Store): ContractMemory {
  const there = memories.get(store);
  if (there !== undefined) return there;
  const memory = new ContractMemory();
  memories.set(store, memory);
  return memory;
}
