/** What the bench says to a View in place of a user, and what it takes from a call of the conversation. */
import { MODES, type Mode } from "../../components/view/display.svelte";
import type { LifeDoors } from "../../components/view/view-life.svelte";
import { prettyJson } from "../../components/exact-json";
import type { Store } from "../../state/store.svelte";
import type { Bench } from "./bench.svelte";

/** The longest output that is taken over into a text field, in characters. */
const LONGEST = 2_000_000;

/** The one stage: a View that asks for another mode gets it, if it may, and the choice of modes shows it. */
export function onStage(bench: Bench): LifeDoors["displays"] {
  const mode = (): Mode => MODES.find((it) => it === bench.context.display_mode) ?? "inline";
  const show = (wanted: Mode): void => {
    bench.context = { ...bench.context, display_mode: wanted };
  };
  return {
    mode,
    show: (_view, wanted) => show(wanted),
    wish: (_view, wanted, may) => {
      if (may.includes(wanted)) show(wanted);
      return mode();
    },
    // The author's choice stays for the next start.
    forget: () => undefined,
  };
}

/** Puts on the bench what a call had as its input and what its View received. Answers what to say. */
export async function callValues(store: Store, callId: string, bench: Bench): Promise<string> {
  const call = store.calls.find((it) => it.call_id === callId);
  if (call === undefined) return "That call is not there any more.";
  if (call.state.kind === "failed") return `The call failed. ${call.state.what} ${call.state.todo}`;
  const delivery = call.deliveries.find((it) => it.consumer === "view" && !it.what.startsWith("_meta"));
  if (delivery === undefined) return `The call brought nothing for Views (it ended as ${call.state.kind.replaceAll("_", " ")}, in the mode ${call.mode}).`;
  const payload = await store.rpc("payload_text", { handle: delivery.handle, limit: LONGEST });
  if (!payload.whole) return "What the call brought is too long for a text field.";
  bench.input = prettyJson(call.arguments_json);
  bench.output = prettyJson(payload.text);
  bench.ending = call.state.kind === "tool_error" ? "error" : "result";
  return `Taken from call ${call.number}.`;
}
