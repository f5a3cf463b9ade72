/**
 * The transcripts that are in the page: that of the shown conversation, and those that were just left and whose Views
 * still put their things away. A frame that leaves the page cannot answer any more, so it stays until then.
 */
import { untrack } from "svelte";
import type { ConversationView } from "./bindings/ConversationView";
import { crowd } from "./components/view/crowd";

export class Transcripts {
  /** In the order in which they came: to move one would load its Views anew. */
  private ids = $state.raw<readonly string[]>([]);
  private shown: string | null = null;
  /** How each was last, for one that is deleted. */
  private readonly last = new Map<string, ConversationView>();

  readonly list: readonly ConversationView[] = $derived(
    this.ids.flatMap((id) => {
      const now = this.find(id) ?? this.last.get(id);
      if (now === undefined) return [];
      this.last.set(id, now);
      return [now];
    }),
  );

  /** `find` gives a conversation as it is now, if it is here. */
  constructor(private readonly find: (id: string) => ConversationView | null) {}

  /** Another conversation is shown, or none. */
  show(shown: string | null): void {
    untrack(() => {
      const left = this.ids.filter((id) => id !== shown);
      const here = this.ids.filter((id) => id === shown || crowd.runsIn(id));
      this.ids = shown === null || here.includes(shown) ? here : [...here, shown];
      this.shown = shown;
      for (const id of left) {
        if (here.includes(id)) void this.end(id);
        else this.last.delete(id);
      }
    });
  }

  private async end(id: string): Promise<void> {
    await crowd.leave(id);
    // One may be back by then.
    if (id === this.shown) return;
    this.ids = this.ids.filter((it) => it !== id);
    this.last.delete(id);
  }
}
