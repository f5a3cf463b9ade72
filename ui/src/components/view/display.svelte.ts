/**
 * Where the Views of a window are shown: each in its place in the conversation, at most one in the whole window, and
 * at most one in a box of its own above the conversation. A View may ask; the user has the last word.
 * Deliberately absent: how a mode is drawn. The style sheet does it all, because a frame that is moved in the page
 * loads anew.
 */
import type { McpUiDisplayMode } from "@modelcontextprotocol/ext-apps/app-bridge";

export type Mode = McpUiDisplayMode;

/** The modes of this window. */
export const MODES: readonly Mode[] = ["inline", "fullscreen", "pip"];

/** What the user took back is not asked for again so soon, in milliseconds: a View must not hold them in it. */
export const CALM_MS = 3000;

/**
 * The modes that a View may be shown in: those that it declared, and all of them if it declared nothing (MCP Apps
 * 2026-01-26, "Display Modes"). Its place in the conversation is where it begins and where the user sends it back to.
 */
export function offered(declared: readonly string[] | undefined): readonly Mode[] {
  if (declared === undefined) return MODES;
  return MODES.filter((mode) => mode === "inline" || declared.includes(mode));
}

/** The Views that are not in their places. A View is named by any object that is its own. */
export class Displays {
  private fullscreen = $state.raw<object | null>(null);
  private pip = $state.raw<object | null>(null);
  private readonly takenBack = new WeakMap<object, number>();

  /** `now` gives milliseconds. */
  constructor(private readonly now: () => number) {}

  /** Whether a View covers the window. */
  get covered(): boolean {
    return this.fullscreen !== null;
  }

  mode(view: object): Mode {
    if (this.fullscreen === view) return "fullscreen";
    return this.pip === view ? "pip" : "inline";
  }

  /** The user's own choice. Who was there before goes back to its place. */
  show(view: object, mode: Mode): void {
    if (mode === "inline") this.takenBack.set(view, this.now());
    this.move(view, mode);
  }

  /** What a View asks for; the answer is where it is then. It never takes another's place. */
  wish(view: object, mode: Mode, may: readonly Mode[]): Mode {
    const free = mode === "inline" || (mode === "fullscreen" ? this.fullscreen : this.pip) === null;
    const calm = this.now() - (this.takenBack.get(view) ?? Number.NEGATIVE_INFINITY) < CALM_MS;
    if (may.includes(mode) && free && !(calm && mode !== "inline")) this.move(view, mode);
    return this.mode(view);
  }

  /** The View is gone. */
  forget(view: object): void {
    this.move(view, "inline");
  }

  /** The View that covers the window goes back to its place. */
  uncover(): void {
    if (this.fullscreen !== null) this.show(this.fullscreen, "inline");
  }

  private move(view: object, mode: Mode): void {
    if (this.fullscreen === view) this.fullscreen = null;
    if (this.pip === view) this.pip = null;
    if (mode === "fullscreen") this.fullscreen = view;
    if (mode === "pip") this.pip = view;
  }
}

/** The displays of this window. */
export const displays = new Displays(() => performance.now());
