import { SvelteMap } from "svelte/reactivity";
import type { LegacyPolicyView } from "../../bindings/LegacyPolicyView";
import type { ToolCallView } from "../../bindings/ToolCallView";
import type { Store } from "../../state/store.svelte";

/**
 * The tools for which the user turned round in this window what the model reads. What the host says of a tool is no
 * answer alone: without a choice of the user the mode decides, and the host then says the same as for a choice.
 */
export class TurnedPolicies {
  readonly #store: Store;
  readonly #turned = new SvelteMap<string, LegacyPolicyView>();

  constructor(store: Store) {
    this.#store = store;
  }

  set({ server_id, tool }: ToolCallView, policy: LegacyPolicyView): void {
    this.#turned.set(keyOf(server_id, tool), policy);
  }

  /** What the model reads of a tool from its next call on; `null` when that was not chosen here. */
  of({ server_id, tool }: ToolCallView): LegacyPolicyView | null {
    const turned = this.#turned.get(keyOf(server_id, tool));
    if (turned === undefined) return null;
    // It may have been chosen anew elsewhere in the window.
    const server = this.#store.state?.servers.find((one) => one.id === server_id);
    return server?.tools.find((one) => one.name === tool)?.legacy_policy ?? turned;
  }
}

function keyOf(serverId: string, tool: string): string {
  return JSON.stringify([serverId, tool]);
}

const all = new WeakMap<Store, TurnedPolicies>();

/** What was turned round in a window; kept while one looks at another tab. */
export function turnedPolicies(store: Store): TurnedPolicies {
  const there = all.get(store);
  if (there !== undefined) return there;
  const turned = new TurnedPolicies(store);
  all.set(store, turned);
  return turned;
}
