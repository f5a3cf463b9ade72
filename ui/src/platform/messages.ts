/**
 * The one place where the window hears `message` events. Views may post to the window at any time, and Tauri's own
 * listener would carry whatever looks like one of its isolated messages to the program, with this window's key. So
 * this listener captures, by which it comes before all others of the window whenever they were added. It lets through what the isolation frame and the window itself say, and hands
 * everything else to the Views' filters alone.
 * Deliberately absent: who is heard. Each View's filter compares the source and the exact origin itself.
 */

/** Where messages of frames arrive. */
export interface MessageSource {
  addEventListener(type: "message", listener: (event: MessageEvent) => void): void;
  removeEventListener(type: "message", listener: (event: MessageEvent) => void): void;
}

/** The part of a window that a guard needs. */
export interface GuardedWindow {
  addEventListener(type: "message", listener: (event: MessageEvent) => void, options: { capture: boolean }): void;
  document: { getElementById(id: string): unknown };
}

/** Tauri's frame in which a message to the program is encrypted. */
const ISOLATION = "__tauri_isolation__";

export class MessageGuard implements MessageSource {
  private readonly listeners = new Set<(event: MessageEvent) => void>();

  constructor(private readonly window: GuardedWindow) {
    window.addEventListener("message", (event) => this.take(event), { capture: true });
  }

  addEventListener(_type: "message", listener: (event: MessageEvent) => void): void {
    this.listeners.add(listener);
  }

  removeEventListener(_type: "message", listener: (event: MessageEvent) => void): void {
    this.listeners.delete(listener);
  }

  private take(event: MessageEvent): void {
    if (this.isOwn(event.source)) return;
    event.stopImmediatePropagation();
    for (const listener of [...this.listeners]) listener(event);
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
