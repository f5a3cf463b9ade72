/**
 * Which tools the open Views of this window offer, by the call whose View it is: what Rust took of their lists. The list of tools and the
 * question before a call read it.
 * Deliberately absent: a View's own lists, and offering anything, which Rust does.
 */
import { SvelteMap } from "svelte/reactivity";
import type { OwnToolsView } from "../../bindings/OwnToolsView";

/** What one View offers. */
export interface Offering {
  conversationId: string;
  /** The number of the call. */
  number: number;
  /** Which View, for people. */
  label: string;
  own: OwnToolsView;
}

/** By the id of the call. */
export const offerings = new SvelteMap<string, Offering>();
