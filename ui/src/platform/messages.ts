/**
 * The one place where the window hears `message` events. Views may post to the window at any time, and Tauri's own
 * listener would carry whatever looks like one of its isolated messages to the program, with this window's key. So
 * this listener captures, by which it comes before all others of the window whenever they were added. It lets through
 * what the isolation frame and the window itself say, and hands everything else to the Views' filters alone, with the
 * frame of the window in which it was said: a View may post to the window from any depth of frames of its own.
 * Deliberately absent: who is heard. Each View's filter compares the source and the exact origin itself.
 */

/** Hears a message, and in which frame of the window it was said. `null` is a frame that is gone, and whoever is in none. */
export type MessageListener = (event: MessageEvent, within: unknown) => void;

/** Where messages of frames arrive. */
export interface MessageSource {
  addEventListener(type: "message", listener: MessageListener): void;
  removeEventListener(type: "message", listener: MessageListener): void;
}

/** The part of a window that a guard needs. */
export interface GuardedWindow {
  addEventListener(type: "message", listener: (event: MessageEvent) => void, options: { capture: boolean }): void;
  document: { getElementById(id: string): unknown };
}

/** Tauri's frame in which a message to the program is encrypted. */
const ISOLATION = "__tauri_isolation__";

export class MessageGuard implements MessageSource {
  private readonly listeners = new Set<MessageListener>();

  constructor(private readonly window: GuardedWindow) {
    window.addEventListener("message", (event) => this.take(event), { capture: true });
  }

  addEventListener(_type: "message", listener: MessageListener): void {
    this.listeners.add(listener);
  }

  removeEventListener(_type: "message", listener: MessageListener): void {
    this.listeners.delete(listener);
  }

  private take(event: MessageEvent): void {
    if (this.isOwn(event.source)) return;
    event.stopImmediatePropagation();
    const within = this.frameOf(event.source);
    for (const listener of [...this.listeners]) listener(event, within);
  }

  /** The frame of this window that holds a source, however deep. A frame's parent is the engine's to say, of any origin. */
  private frameOf(source: unknown): unknown {
    let at = source;
    while (typeof at === "object" && at !== null && "parent" in at) {
      const { parent } = at;
      if (parent === this.window) return at;
      // A window without a frame around it is its own parent.
      if (parent === at) return null;
      at = parent;
    }
    return null;
  }

  private isOwn(source: unknown): boolean {
    if (source === this.window) return true;
    // A View cannot take this name: the document is the window's, and no View's frame has an id.
    const isolation = this.window.document.getElementById(ISOLATION);
    return typeof isolation === "object" && isolation !== null && "contentWindow" in isolation && source !== null && source === isolation.contentWindow;
  }
}

/** The guard of this window. Loaded before anything else of the page. */
export const messages = new MessageGuard(window);
