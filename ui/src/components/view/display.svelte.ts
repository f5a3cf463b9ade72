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

/** How long no View of a server is moved at its own wish after the user took one of them back, in milliseconds. */
export const CALM_MS = 60_000;

/**
 * The modes that a View may be shown in: those that it declared, and all of them if it declared nothing (MCP Apps
 * 2026-01-26, "Display Modes"). Its place in the conversation is where it begins and where the user sends it back to.
 */
export function offered(declared: readonly string[] | undefined): readonly Mode[] {
  if (declared === undefined) return MODES;
  return MODES.filter((mode) => mode === "inline" || declared.includes(mode));
}

/** The Views of one server, as they may ask. */
export type ServerDisplays = Pick<Displays, "mode" | "show" | "forget"> & { wish(view: object, mode: Mode, may: readonly Mode[]): Mode };

/** The Views that are not in their places. A View is named by any object that is its own. */
export class Displays {
  private fullscreen = $state.raw<object | null>(null);
  private pip = $state.raw<object | null>(null);
  /** The openings that the user took back. Only the user moves them again. */
  private readonly takenBack = new WeakSet<object>();
  /** When the user last took back a View of a server. */
  private readonly calmSince = new Map<string, number>();
  private readonly serverOf = new WeakMap<object, string>();

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

  /** For the Views of one server, whose id is asked for each time. */
  of(server: () => string): ServerDisplays {
    const named = (view: object): object => {
      this.serverOf.set(view, server());
      return view;
    };
    return {
      mode: (view) => this.mode(view),
      show: (view, mode) => this.show(named(view), mode),
      wish: (view, mode, may) => this.wish(named(view), mode, may),
      forget: (view) => this.forget(view),
    };
  }

  /** The user's own choice. Who was there before goes back to its place. */
  show(view: object, mode: Mode): void {
    if (mode === "inline") {
      this.takenBack.add(view);
      const server = this.serverOf.get(view);
      if (server !== undefined) this.calmSince.set(server, this.now());
    }
    this.move(view, mode);
  }

  /**
   * What a View asks for; the answer is where it is then. It never takes another's place. It needs no click of the user, who has the last
   * word: what they took back stays, and its server is quiet for a while.
   */
  wish(view: object, mode: Mode, may: readonly Mode[]): Mode {
    const free = mode === "inline" || (mode === "fullscreen" ? this.fullscreen : this.pip) === null;
    if (may.includes(mode) && free && (mode === "inline" || !this.isCalm(view))) this.move(view, mode);
    return this.mode(view);
  }

  /** The View's opening is over. */
  forget(view: object): void {
    this.takenBack.delete(view);
    this.move(view, "inline");
  }

  private isCalm(view: object): boolean {
    if (this.takenBack.has(view)) return true;
    const since = this.calmSince.get(this.serverOf.get(view) ?? "");
    return since !== undefined && this.now() - since < CALM_MS;
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
