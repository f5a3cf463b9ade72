/** What the system says of its user's language, time and hands, each as it is now. */
import { createSubscriber, MediaQuery } from "svelte/reactivity";
import { on } from "svelte/events";

class Around {
  private readonly coarse = new MediaQuery("(any-pointer: coarse)");
  private readonly hovers = new MediaQuery("(any-hover: hover)");
  // No event tells of another time zone; one who changed it comes back to the window.
  private readonly heard = createSubscriber((update) => {
    const ends = [on(window, "languagechange", update), on(window, "focus", update)];
    return () => {
      for (const end of ends) end();
    };
  });

  get locale(): string {
    this.heard();
    return navigator.language;
  }

  get timeZone(): string {
    this.heard();
    return Intl.DateTimeFormat().resolvedOptions().timeZone;
  }

  get touch(): boolean {
    return this.coarse.current;
  }

  get hover(): boolean {
    return this.hovers.current;
  }
}

/** The surroundings of this window. */
export const around = new Around();
