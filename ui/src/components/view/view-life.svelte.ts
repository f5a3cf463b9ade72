/**
 * One View from its opening to its end: the frame, the bridge that speaks with it, and what the window shows meanwhile.
 * The frame is made once for each opening, never moved and never drawn anew.
 * Deliberately absent: who opens it and how it is drawn, which the caller says, and what a View may have, which is Rust's.
 */
import type { McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import { untrack } from "svelte";
import type { OwnToolsView } from "../../bindings/OwnToolsView";
import type { ViewAnswer } from "../../bindings/ViewAnswer";
import type { ViewLaunch } from "../../bindings/ViewLaunch";
import { messages } from "../../platform/messages";
import { toApiError } from "../../platform/types";
import { BlockedList, remedy, type Blocked } from "./blocked";
import { BridgeLog, type BridgeEntry } from "./bridge-log";
import type { Mode, ServerDisplays } from "./display.svelte";
import { HeightKeeper } from "./height";
import type { Place } from "./host-context";
import { keyboard } from "./keyboard";
import { progressOf } from "./progress";
import { isUncaught, TELLS_CONSOLE, wordsOf } from "./page-says";
import type { ViewSession } from "./view-session";

/** A View that has not said `initialized` by then is said not to have started, in milliseconds. */
export const LATE_MS = 8000;
/** How long a request of a View that is out of sight keeps it from resting, in milliseconds since it was made. */
export const MOST_WAIT_MS = 60_000;
const FIRST_HEIGHT = 240;
const NO_TOOLS: OwnToolsView = { tools: [], left_out: [] };
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
  /** Ended to save memory; it comes back when it is looked at. */
  | { kind: "resting" }
  | { kind: "failed"; what: string; todo: string };

/** How a View is left. */
export type Ended = Extract<Phase, { kind: "closed" | "stopped" | "resting" }>;

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
  /** Tells Rust which tools the View offers itself; the answer is what of them is taken. */
  offer: (viewId: string, listJson: string) => Promise<OwnToolsView>;
  /** Hands on what the View answered to a call of such a tool. Nobody may wait for it any more. */
  answer: (viewId: string, call: number, answer: ViewAnswer) => void;
  /** Hears what Rust says to the View; the function that is returned ends it. */
  listen: (viewId: string, heard: (json: string) => void) => () => void;
  /** The surroundings of the View now, for a frame in this place. */
  context: (launch: ViewLaunch, place: Place) => McpUiHostContext;
  /** Where the Views of the window are shown. */
  displays: ServerDisplays;
  /** What the frame is called for those who do not see it. */
  title: () => string;
  theme: () => "light" | "dark";
  /** The application's version. */
  version: () => string;
  /** Shows an error that concerns nobody else. */
  report: (thrown: unknown) => void;
  /** Whether what crosses is kept with its values, and what the page says, for an author to look at. */
  keepsValues?: boolean;
  /** The milliseconds before each piece of the input, of a View that is told it in pieces. */
  pace?: () => number;
}

/** What one opening holds; never shared with the next one, so that nothing old is heard. */
interface Opening {
  launch: ViewLaunch;
  session: ViewSession;
  frame: HTMLIFrameElement;
  log: BridgeLog;
  end: () => void;
}

export class ViewLife {
  phase = $state.raw<Phase>({ kind: "closed" });
  /** Pixels that the frame is shown with. */
  height = $state(FIRST_HEIGHT);
  /** Pixels of the frame's box; the caller binds them. */
  width = $state(0);
  boxHeight = $state(0);
  /** The modes that the View may be shown in. Unknown until it is ready, and then only its own place is sure. */
  modes = $state.raw<readonly Mode[]>(["inline"]);
  /** The tools that the View offers itself, as Rust took them. */
  own = $state.raw<OwnToolsView>(NO_TOOLS);
  /** What crossed, oldest first. */
  entries = $state.raw<readonly BridgeEntry[]>([]);
  /** What the View's policy stopped. */
  blocked = $state.raw<readonly Blocked[]>([]);
  /** The first error of its page that nobody caught, in the View's own words. */
  firstError = $state.raw<string | null>(null);
  /** How far the handshake came, while it has not come to its end. */
  readonly progress = $derived(progressOf(this.entries));
  /** The launch alone, which stays the same while the phase goes on. */
  readonly launch = $derived(this.phase.kind === "live" || this.phase.kind === "stopping" ? this.phase.launch : null);

  private opening: Opening | null = null;
  /** The requests that have no answer yet. */
  private readonly unanswered = new Set<OpenRequest>();
  /** Counts the openings, so that an answer which comes late is known as such. */
  private turn = 0;
  /** The end that is on its way. */
  private ending: Promise<void> = Promise.resolve();

  constructor(private readonly doors: LifeDoors) {}

  /** Where it is shown. */
  get mode(): Mode {
    return this.doors.displays.mode(this);
  }

  /** The user wants it elsewhere. */
  show(mode: Mode): void {
    if (this.phase.kind === "live" && (mode === "inline" || this.modes.includes(mode))) this.doors.displays.show(this, mode);
  }

  /** It has a frame, or gets one. */
  get runs(): boolean {
    return this.phase.kind === "live" || this.phase.kind === "stopping" || this.phase.kind === "opening";
  }

  /**
   * Whether something would be lost with it, when it has been out of sight since then and it is now: the user looks at it beside the
   * conversation or is asked something, it was called for a tool of its own, or it waits for what it asked for in sight. What it asks
   * for out of sight nobody waits for, and nothing is waited for without end: a View that always has a request open would never rest.
   */
  keepsAwake(since: number, now: number): boolean {
    const counts = (it: OpenRequest): boolean => it.asksUser || (it.at <= since && now - it.at < MOST_WAIT_MS);
    const isCalled = this.opening?.session.isCalled === true;
    return isCalled || this.mode !== "inline" || [...this.unanswered].some(counts);
  }

  /** Starts the View. One that comes back has its old height from the start, so that nothing around it jumps. */
  async open(comesBack = this.phase.kind === "resting"): Promise<void> {
    if (!comesBack) this.height = FIRST_HEIGHT;
    this.phase = { kind: "opening" };
    // What crossed to the View before is none of this one.
    this.entries = [];
    this.blocked = [];
    this.firstError = null;
    const turn = (this.turn += 1);
    try {
      const launch = await this.doors.open();
      // Read through a function: it may have become another one meanwhile.
      if (this.kind() !== "opening" || turn !== this.turn) {
        await this.close(launch);
        return;
      }
      this.phase = { kind: "live", launch, started: "waiting" };
    } catch (thrown) {
      const error = toApiError(thrown);
      if (turn === this.turn && this.kind() === "opening") this.phase = { kind: "failed", what: error.what, todo: error.todo };
    }
  }

  /** Ends the View: it may put its things away for a second, then its frame and its origin are gone. */
  async stop(then: Ended = { kind: "stopped", why: null }): Promise<void> {
    if (this.phase.kind === "opening") this.phase = then;
    if (this.phase.kind === "live") this.ending = this.end(this.phase.launch, then);
    await this.ending;
  }

  private async end(launch: ViewLaunch, then: Ended): Promise<void> {
    // It ends in its place, and holds nobody up elsewhere meanwhile.
    this.doors.displays.forget(this);
    const ending = this.opening;
    this.opening = null;
    if (ending !== null) {
      ending.end();
      this.phase = { kind: "stopping", launch };
      await ending.session.teardown();
    }
    this.modes = ["inline"];
    this.own = NO_TOOLS;
    this.phase = then;
    await this.close(launch);
  }

  /** It is not opened before it is looked at. */
  wait(): void {
    if (this.phase.kind === "closed") this.phase = { kind: "resting" };
  }

  async reload(): Promise<void> {
    await this.stop({ kind: "closed" });
    await this.open(true);
  }

  /**
   * The window takes the View's place away at once; the View hears of it, but cannot answer any more. Whoever can wait
   * stops it before.
   */
  destroy(): void {
    this.own = NO_TOOLS;
    const ending = this.opening;
    const gone = this.phase.kind === "live" ? this.phase.launch : null;
    this.opening = null;
    // An opening that is on its way sees by this that nobody waits for it.
    this.phase = { kind: "closed" };
    this.doors.displays.forget(this);
    ending?.end();
    void ending?.session.teardown();
    if (gone !== null) void this.close(gone);
  }

  /** The host ended the View: its frame goes at once. The View hears of it, but cannot answer any more. */
  ended(why: string): void {
    if (!this.runs) return;
    this.destroy();
    this.phase = { kind: "stopped", why };
  }

  /** Tells the View its surroundings, which may have changed. A frame without a size is not shown now. */
  surround(theme: "light" | "dark"): void {
    const { opening } = this;
    if (opening === null || this.width === 0) return;
    opening.frame.style.colorScheme = theme;
    opening.session.setContext(this.doors.context(opening.launch, this.where()));
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
        if (this.doors.keepsValues === true) frame.name = TELLS_CONSOLE;
        frame.setAttribute("sandbox", launch.sandbox);
        frame.setAttribute("allow", launch.allow);
        frame.setAttribute("referrerpolicy", "no-referrer");
        // Without it a dark window paints a light backdrop behind a transparent View, or the other way round.
        frame.style.colorScheme = this.doors.theme();
        box.append(frame);
        let gone = false;
        const unguard = keyboard().guard(frame, () => void this.stop({ kind: "stopped", why: THIEF }));
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
    const requests = new Requests(launch.view_id, doors);
    const heights = new HeightKeeper(this.height, now);
    const session = new ViewSession(launch, doors.context(launch, this.where()), {
      request: async (method, paramsJson, signal) => {
        const open = { at: now(), asksUser: asksUser(method) };
        this.unanswered.add(open);
        try {
          return await requests.send(method, paramsJson, signal);
        } finally {
          this.unanswered.delete(open);
        }
      },
      offer: async (listJson) => {
        const own = await doors.offer(launch.view_id, listJson);
        if (this.opening?.session === session) this.own = own;
      },
      answer: (call, answer) => doors.answer(launch.view_id, call, answer),
      page: messages,
      log,
      now,
      version: doors.version(),
      oninitialized: (modes) => {
        this.modes = modes;
        this.started("yes");
      },
      onsize: (reported) => {
        // What it measures in another box, or out of sight, says nothing of its place.
        if (this.mode === "inline" && this.width > 0) this.height = heights.next(reported);
      },
      onmode: (wanted, modes) => (this.phase.kind === "live" ? doors.displays.wish(this, wanted, modes) : this.mode),
      onblocked: (directive, uri) => {
        const kind = blocked.add(directive, uri);
        if (kind !== null && doors.keepsValues === true) log.blocked(directive, kind.where, uri, remedy(kind, launch.wishes));
      },
      onsays: (said) => {
        if (isUncaught(said) && this.opening?.log === log) this.firstError ??= wordsOf(said);
        if (doors.keepsValues === true) log.says(said);
      },
      onleave: () => void this.stop(),
      onflood: () => void this.stop({ kind: "stopped", why: FLOOD }),
      pace: doors.pace?.() ?? 0,
    });
    const unlisten = doors.listen(launch.view_id, (json) => session.message(json));
    const late = setTimeout(() => this.started("late"), LATE_MS);
    const end = (): void => {
      requests.end();
      unlisten();
      clearTimeout(late);
    };
    this.opening = { launch, session, frame, log, end };
    await session.connect(frame.contentWindow);
    // Only now: a View that is quicker than the bridge would speak to nobody.
    frame.src = launch.url;
  }

  private where(): Place {
    return { mode: this.mode, width: this.width, height: this.boxHeight };
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

/** A request that has no answer yet: when it was made, and whether the user is asked about it. */
interface OpenRequest {
  at: number;
  asksUser: boolean;
}

/** Whether the user is asked, whatever the View has asked for before. Calls that wait for approval are known by their own state. */
function asksUser(method: string): boolean {
  return method.startsWith("ui/") || method.startsWith("sampling/");
}

/** The requests of one opening to Rust, each with a number by which it can be given up. */
class Requests {
  private count = 0;
  private ended = false;
  /** Those that wait for the user. */
  private readonly asking = new Set<number>();

  constructor(
    private readonly viewId: string,
    private readonly doors: LifeDoors,
  ) {}

  async send(method: string, paramsJson: string, signal: AbortSignal): Promise<ViewAnswer> {
    const asks = asksUser(method);
    // While it puts its things away a View may still reach its server, and asks nothing of the user.
    if (this.ended && asks) return { kind: "error", code: -32000, message: "the View is being closed", from_server: false };
    const id = (this.count += 1);
    const giveUp = (): void => this.doors.giveUp(this.viewId, id);
    signal.addEventListener("abort", giveUp, { once: true });
    if (asks) this.asking.add(id);
    try {
      return await this.doors.request(this.viewId, id, method, paramsJson);
    } catch (thrown) {
      return { kind: "error", code: -32603, message: toApiError(thrown).what, from_server: false };
    } finally {
      this.asking.delete(id);
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** The View is about to go: its questions to the user are taken back. */
  end(): void {
    this.ended = true;
    for (const id of this.asking) this.doors.giveUp(this.viewId, id);
  }
}
