/**
 * One View from its opening to its end: the frame, the bridge that speaks with it, and what the window shows meanwhile.
 * The frame is made once for each opening, never moved and never drawn anew.
 * Deliberately absent: who opens it and how it is drawn, which the caller says, and what a View may have, which is Rust's.
 */
import type { McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import { untrack } from "svelte";
import type { ViewAnswer } from "../../bindings/ViewAnswer";
import type { ViewLaunch } from "../../bindings/ViewLaunch";
import { messages } from "../../platform/messages";
import { toApiError } from "../../platform/types";
import { BlockedList, type Blocked } from "./blocked";
import { BridgeLog, type BridgeEntry } from "./bridge-log";
import type { Question, Seat } from "./consent";
import { HeightKeeper } from "./height";
import { keyboard } from "./keyboard";
import type { SessionDoors, ViewSession } from "./view-session";

/** A View that has not said `initialized` by then is said not to have started, in milliseconds. */
export const LATE_MS = 8000;
const FIRST_HEIGHT = 240;
/** Why a View is stopped without the user. */
const FLOOD = "The View was stopped: it sent far more messages than can be heard.";
const THIEF = "The View was stopped: it took the keyboard again and again while you were writing.";

/** Where a View stands. */
export type Phase =
  | { kind: "closed" }
  | { kind: "opening" }
  | { kind: "live"; launch: ViewLaunch; started: "waiting" | "late" | "yes" }
  | { kind: "stopping"; launch: ViewLaunch }
  /** By the user, or for a reason. */
  | { kind: "stopped"; why: string | null }
  | { kind: "failed"; what: string; todo: string };

/** What a View's life needs from the outside. */
export interface LifeDoors {
  /** Opens the View in Rust. */
  open: () => Promise<ViewLaunch>;
  /** Takes the View's origin away. */
  close: (viewId: string) => Promise<void>;
  /** Asks Rust on the View's behalf; may fail. */
  request: (viewId: string, requestId: number, method: string, paramsJson: string) => Promise<ViewAnswer>;
  /** Says that nobody waits for a request any more. */
  giveUp: (viewId: string, requestId: number) => void;
  /** Hears what Rust says to the View; the function that is returned ends it. */
  listen: (viewId: string, heard: (json: string) => void) => () => void;
  /** A place where the View's questions are asked. */
  seat: (show: (question: Question | null) => void) => Seat;
  /** Opens an address outside. */
  openLink: (url: string) => Promise<void>;
  /** The surroundings of the View now, for a frame of this many pixels. */
  context: (launch: ViewLaunch, width: number) => McpUiHostContext;
  /** What the frame is called for those who do not see it. */
  title: () => string;
  theme: () => "light" | "dark";
  /** The application's version. */
  version: () => string;
  /** Shows an error that concerns nobody else. */
  report: (thrown: unknown) => void;
  /** Whether what crosses is kept with its values, for an author to look at. */
  keepsValues?: boolean;
  /** The beginnings of the input that the View is told first. */
  pieces?: () => SessionDoors["pieces"];
}

/** What one opening holds; never shared with the next one, so that nothing old is heard. */
interface Opening {
  launch: ViewLaunch;
  session: ViewSession;
  frame: HTMLIFrameElement;
  log: BridgeLog;
  seat: Seat;
  end: () => void;
}

export class ViewLife {
  phase = $state.raw<Phase>({ kind: "closed" });
  /** Pixels that the frame is shown with. */
  height = $state(FIRST_HEIGHT);
  /** Pixels of the frame's place; the caller binds it. */
  width = $state(0);
  /** What crossed, oldest first. */
  entries = $state.raw<readonly BridgeEntry[]>([]);
  /** What the View's policy stopped. */
  blocked = $state.raw<readonly Blocked[]>([]);
  /** What the View asks the user now. */
  question = $state.raw<Question | null>(null);
  /** The launch alone, which stays the same while the phase goes on. */
  readonly launch = $derived(this.phase.kind === "live" || this.phase.kind === "stopping" ? this.phase.launch : null);

  private opening: Opening | null = null;

  constructor(private readonly doors: LifeDoors) {}

  async open(): Promise<void> {
    this.phase = { kind: "opening" };
    try {
      const launch = await this.doors.open();
      // Read through a function: it may have become another one meanwhile.
      if (this.kind() !== "opening") {
        await this.close(launch);
        return;
      }
      this.height = FIRST_HEIGHT;
      this.phase = { kind: "live", launch, started: "waiting" };
    } catch (thrown) {
      const error = toApiError(thrown);
      this.phase = { kind: "failed", what: error.what, todo: error.todo };
    }
  }

  /** Ends the View: it may put its things away for a second, then its frame and its origin are gone. */
  async stop(why: string | null = null, then: Phase = { kind: "stopped", why }): Promise<void> {
    if (this.phase.kind === "opening") this.phase = then;
    if (this.phase.kind !== "live") return;
    const { launch } = this.phase;
    const ending = this.opening;
    this.opening = null;
    if (ending !== null) {
      ending.end();
      this.phase = { kind: "stopping", launch };
      await ending.session.teardown();
    }
    this.phase = then;
    await this.close(launch);
  }

  async reload(): Promise<void> {
    await this.stop(null, { kind: "closed" });
    await this.open();
  }

  /** The window takes the View's place away; the View hears of it, and Rust takes its origin away. */
  destroy(): void {
    const ending = this.opening;
    const gone = this.phase.kind === "live" ? this.phase.launch : null;
    this.opening = null;
    // An opening that is on its way sees by this that nobody waits for it.
    this.phase = { kind: "closed" };
    ending?.end();
    void ending?.session.teardown();
    if (gone !== null) void this.close(gone);
  }

  /** The user's answer to the question that is shown. */
  answer(choice: Parameters<Seat["answer"]>[0]): void {
    this.opening?.seat.answer(choice);
  }

  /** Tells the View its surroundings, which may have changed. */
  surround(theme: "light" | "dark"): void {
    const { opening } = this;
    if (opening === null || this.width === 0) return;
    opening.frame.style.colorScheme = theme;
    opening.session.setContext(this.doors.context(opening.launch, this.width));
  }

  /**
   * Puts the one frame of this opening into its place. It is never moved and never drawn anew; so nothing that is
   * read here may be tracked, or a change of theme would load the View again.
   */
  place(launch: ViewLaunch) {
    return (box: HTMLElement): (() => void) =>
      untrack(() => {
        const frame = document.createElement("iframe");
        frame.title = this.doors.title();
        frame.dataset["testid"] = "view-frame";
        frame.dataset["view"] = launch.view_id;
        frame.setAttribute("sandbox", launch.sandbox);
        frame.setAttribute("allow", launch.allow);
        frame.setAttribute("referrerpolicy", "no-referrer");
        // Without it a dark window paints a light backdrop behind a transparent View, or the other way round.
        frame.style.colorScheme = this.doors.theme();
        box.append(frame);
        let gone = false;
        const unguard = keyboard().guard(frame, () => void this.stop(THIEF));
        void this.connect(launch, frame, () => gone);
        return () => {
          gone = true;
          unguard();
          frame.remove();
        };
      });
  }

  private async connect(launch: ViewLaunch, frame: HTMLIFrameElement, isGone: () => boolean): Promise<void> {
    const { ViewSession } = await import("./view-session");
    if (isGone() || frame.contentWindow === null) return;
    const { doors } = this;
    const now = (): number => performance.now();
    const log = new BridgeLog(now, () => {
      if (this.opening?.log === log) this.entries = log.list();
    }, doors.keepsValues);
    const blocked = new BlockedList((all) => {
      if (this.opening?.log === log) this.blocked = all;
    });
    const seat = doors.seat((next) => (this.question = next));
    const heights = new HeightKeeper(FIRST_HEIGHT, now);
    const pieces = doors.pieces?.();
    const session = new ViewSession(launch, doors.context(launch, this.width), {
      request: this.requests(launch),
      consent: (asks, signal) => seat.ask(asks, signal),
      openLink: doors.openLink,
      page: messages,
      log,
      now,
      version: doors.version(),
      oninitialized: () => this.started("yes"),
      onsize: (reported) => (this.height = heights.next(reported)),
      onblocked: (directive, uri) => blocked.add(directive, uri),
      onleave: () => void this.stop(),
      onflood: () => void this.stop(FLOOD),
      ...(pieces === undefined ? {} : { pieces }),
    });
    const unlisten = doors.listen(launch.view_id, (json) => session.message(json));
    const late = setTimeout(() => this.started("late"), LATE_MS);
    const end = (): void => {
      seat.close();
      unlisten();
      clearTimeout(late);
    };
    this.opening = { launch, session, frame, log, seat, end };
    this.entries = [];
    this.blocked = [];
    await session.connect(frame.contentWindow);
    // Only now: a View that is quicker than the bridge would speak to nobody.
    frame.src = launch.url;
  }

  /** The View's requests to Rust, each with a number by which it can be given up. */
  private requests(launch: ViewLaunch) {
    const { view_id } = launch;
    let count = 0;
    return async (method: string, paramsJson: string, signal: AbortSignal): Promise<ViewAnswer> => {
      const requestId = (count += 1);
      const giveUp = (): void => this.doors.giveUp(view_id, requestId);
      signal.addEventListener("abort", giveUp, { once: true });
      try {
        return await this.doors.request(view_id, requestId, method, paramsJson);
      } catch (thrown) {
        return { kind: "error", code: -32603, message: toApiError(thrown).what };
      } finally {
        signal.removeEventListener("abort", giveUp);
      }
    };
  }

  private started(how: "late" | "yes"): void {
    if (this.phase.kind !== "live" || (how === "late" && this.phase.started !== "waiting")) return;
    this.phase = { ...this.phase, started: how };
  }

  private kind(): Phase["kind"] {
    return this.phase.kind;
  }

  private async close(launch: ViewLaunch): Promise<void> {
    await this.doors.close(launch.view_id).catch((thrown: unknown) => {
      this.doors.report(thrown);
    });
  }
}
