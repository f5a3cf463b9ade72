/**
 * Keeps the keyboard where the user put it. The page of a View may give the focus to itself at any time, and what the
 * user types into the composer would then go to it. A frame gets the keyboard from a text field only when the user
 * clicks into it or tabs to it; else it goes back at once.
 * Deliberately absent: what happens inside a frame, which the page cannot see.
 */

/** A Tab moves the focus by then. */
const TAB_MS = 500;
/** Who has just typed does not click at the same time, even if the pointer rests over the frame. */
const TYPING_MS = 1000;
/** So many thefts within this time are no accident. */
const THEFTS = 5;
const WITHIN_MS = 10_000;

interface Guarded {
  frame: HTMLIFrameElement;
  onthief: () => void;
  thefts: number[];
}

export class KeyboardGuard {
  private readonly guarded = new Set<Guarded>();
  /** What had the focus in the page itself when the user last did something there. */
  private field: Element | null = null;
  private typed = -Infinity;
  private tabbed = -Infinity;
  private moved = -Infinity;

  constructor(
    private readonly window: Window,
    private readonly now: () => number = () => performance.now(),
  ) {
    const options = { capture: true, passive: true };
    window.addEventListener("keydown", (event) => this.pressed(event), options);
    window.addEventListener(
      "pointermove",
      () => {
        this.moved = this.now();
        this.keep();
      },
      options,
    );
    window.addEventListener("focusin", () => this.keep(), options);
    window.addEventListener("blur", () => {
      this.keep();
      this.look();
      // Some engines say only after this event which frame it is.
      window.setTimeout(() => this.look(), 0);
    });
  }

  /** Guards against one frame until the answer is called. `onthief` is told when it does not stop. */
  guard(frame: HTMLIFrameElement, onthief: () => void): () => void {
    const one: Guarded = { frame, onthief, thefts: [] };
    this.guarded.add(one);
    return () => {
      this.guarded.delete(one);
    };
  }

  private pressed(event: KeyboardEvent): void {
    this.keep();
    if (event.key === "Tab") this.tabbed = this.now();
    else this.typed = this.now();
  }

  private keep(): void {
    const active = this.window.document.activeElement;
    if (active !== null && active.tagName !== "IFRAME") this.field = active;
  }

  private look(): void {
    const active = this.window.document.activeElement;
    for (const one of this.guarded) {
      if (one.frame === active && this.field !== null && takesText(this.field) && !this.isByUser(one.frame)) this.giveBack(one);
    }
  }

  private isByUser(frame: HTMLIFrameElement): boolean {
    const now = this.now();
    if (now - this.tabbed < TAB_MS && this.tabbed > this.typed) return true;
    const rests = this.moved < this.typed && now - this.typed < TYPING_MS;
    return frame.matches(":hover") && !rests;
  }

  private giveBack(one: Guarded): void {
    if (this.field instanceof HTMLElement && this.field.isConnected) this.field.focus({ preventScroll: true });
    else one.frame.blur();
    const now = this.now();
    one.thefts = [...one.thefts.filter((at) => now - at < WITHIN_MS), now];
    if (one.thefts.length >= THEFTS) {
      this.guarded.delete(one);
      one.onthief();
    }
  }
}

function takesText(element: Element): boolean {
  return element instanceof HTMLElement && (element.isContentEditable || element.tagName === "TEXTAREA" || element.tagName === "INPUT");
}

let guard: KeyboardGuard | null = null;

/** The guard of this window. */
export function keyboard(): KeyboardGuard {
  guard ??= new KeyboardGuard(window);
  return guard;
}
