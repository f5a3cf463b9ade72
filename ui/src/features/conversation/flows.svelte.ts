import type { FetchedView } from "../../bindings/FetchedView";
import type { PromptView } from "../../bindings/PromptView";
import type { Store } from "../../state/store.svelte";

/** A prompt that was chosen and is not fetched yet, with what was filled in. */
export class PromptForm {
  readonly kind = "form";
  readonly prompt: PromptView;
  /** By the name of the argument; each is there from the beginning, since a name may be one that every object has. */
  values: Record<string, string>;

  constructor(prompt: PromptView) {
    this.prompt = prompt;
    this.values = $state(Object.fromEntries(prompt.arguments.map((one) => [one.name, ""])));
  }
}

/** Where somebody is with a prompt in one conversation. */
export type PromptFlow = PromptForm | { readonly kind: "preview"; readonly fetched: FetchedView };

/** Where somebody is with a prompt, by conversation; kept while one looks at another conversation. */
export class PromptFlows {
  #flows: Readonly<Record<string, PromptFlow>> = $state.raw({});

  of(conversationId: string): PromptFlow | undefined {
    return this.#flows[conversationId];
  }

  begin(conversationId: string, prompt: PromptView): void {
    this.#flows = { ...this.#flows, [conversationId]: new PromptForm(prompt) };
  }

  /** Shows what was fetched; `false` when the form that asked for it was given up or left for another meanwhile. */
  show(conversationId: string, asker: PromptFlow, fetched: FetchedView): boolean {
    if (this.of(conversationId) !== asker) return false;
    this.#flows = { ...this.#flows, [conversationId]: { kind: "preview", fetched } };
    return true;
  }

  /** Ends a flow; one that took its place meanwhile goes on. */
  end(conversationId: string, flow: PromptFlow): void {
    if (this.of(conversationId) !== flow) return;
    const { [conversationId]: _ended, ...others } = this.#flows;
    this.#flows = others;
  }
}

const all = new WeakMap<Store, PromptFlows>();

/** The flows of a window. */
export function promptFlows(store: Store): PromptFlows {
  const there = all.get(store);
  if (there !== undefined) return there;
  const flows = new PromptFlows();
  all.set(store, flows);
  return flows;
}
