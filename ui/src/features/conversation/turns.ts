/** What the transcript says of a whole turn: from a message of the user to the next. */
import type { Item } from "../../bindings/Item";
import type { TurnView } from "../../bindings/TurnView";

/** What a turn cost, said at its last answer. */
export interface TurnUsage {
  requests: number;
  prompt_tokens: number;
  answer_tokens: number;
}

/** The cost of each finished turn, by the id of the answer that ends it. A turn that still goes on has no sum yet. */
export function turnUsage(items: readonly Item[], turn: TurnView): Map<string, TurnUsage> {
  const all = new Map<string, TurnUsage>();
  let sum: TurnUsage = { requests: 0, prompt_tokens: 0, answer_tokens: 0 };
  let last: string | null = null;
  const end = () => {
    if (last !== null && sum.requests > 0) all.set(last, sum);
    sum = { requests: 0, prompt_tokens: 0, answer_tokens: 0 };
    last = null;
  };
  for (const { id, kind } of items) {
    if (kind.kind === "user" || (kind.kind === "brought" && kind.prompt)) end();
    if (kind.kind !== "assistant") continue;
    if (kind.text !== "") last = id;
    if (kind.usage === null) continue;
    sum = {
      requests: sum.requests + 1,
      prompt_tokens: sum.prompt_tokens + kind.usage.prompt_tokens,
      answer_tokens: sum.answer_tokens + kind.usage.answer_tokens,
    };
  }
  if (turn.kind === "idle" || turn.kind === "failed") end();
  return all;
}

/** Whether an answer has nothing to show: its model only called tools, which have entries of their own. */
export function isSilent(items: readonly Item[], at: number): boolean {
  const kind = items[at]?.kind;
  if (kind?.kind !== "assistant" || kind.text !== "" || kind.state.kind !== "done") return false;
  return items[at + 1]?.kind.kind === "tool_call";
}
