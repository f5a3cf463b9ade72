/**
 * The Views of a window together. Each is a page with scripts in the window's one process, so only some run: one that
 * has long been out of sight is put to rest, and comes back by itself when it is looked at again.
 * Deliberately absent: what resting is, which each View's life says, and what is on the screen, which the page knows.
 */

/** So many Views run before any is put to rest. */
export const MOST_RUNNING = 8;
/** How long a View is out of sight before it may be put to rest, in milliseconds. */
export const AWAY_MS = 10_000;
/** How often it is looked again while too many run, in milliseconds. */
const LOOK_MS = 1000;

/** A View, as far as the crowd has to know it. */
export interface Member {
  readonly conversationId: string;
  /** It has a frame, or gets one. */
  runs(): boolean;
  /** Nothing is lost that somebody waits for, of one that is out of sight since then. Both are milliseconds of the crowd's clock. */
  mayRest(since: number, now: number): boolean;
  /** It is let put its things away, and its frame goes. */
  rest(): Promise<void>;
}

/** A View that runs, and since when it is out of sight. */
export interface Away {
  since: number | null;
  mayRest: boolean;
}

/** Those that are put to rest now: the longest out of sight first, and no more than are too many. */
export function toRest<T extends Away>(running: readonly T[], now: number): T[] {
  const out = (it: T): number => (it.since === null ? -1 : now - it.since);
  return running
    .filter((it) => it.mayRest && out(it) >= AWAY_MS)
    .sort((a, b) => out(b) - out(a))
    .slice(0, Math.max(0, running.length - MOST_RUNNING));
}

export class Crowd {
  /** Each View, and since when it is out of sight. */
  private readonly members = new Map<Member, number | null>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `now` gives milliseconds. */
  constructor(private readonly now: () => number) {}

  /** A View came; nobody has seen it yet. The answer takes it out again. */
  join(member: Member): () => void {
    this.members.set(member, this.now());
    return () => {
      this.members.delete(member);
    };
  }

  /** Whether one more may run that nobody looks at. */
  hasRoom(): boolean {
    return this.running().length < MOST_RUNNING;
  }

  /** A View came into sight, or went out of it. */
  sight(member: Member, inSight: boolean): void {
    if (!this.members.has(member)) return;
    if (inSight) this.members.set(member, null);
    else if (this.members.get(member) === null) this.members.set(member, this.now());
    this.lookIn(AWAY_MS);
  }

  /** Whether Views of a conversation run. */
  runsIn(conversationId: string): boolean {
    return this.running().some((it) => it.conversationId === conversationId);
  }

  /** A conversation is left: its Views put their things away, each within its time. */
  async leave(conversationId: string): Promise<void> {
    await Promise.all(this.running().filter((it) => it.conversationId === conversationId).map((it) => it.rest()));
  }

  /** The window closes. */
  async leaveAll(): Promise<void> {
    await Promise.all(this.running().map((it) => it.rest()));
  }

  private running(): Member[] {
    return [...this.members.keys()].filter((it) => it.runs());
  }

  private look(): void {
    const now = this.now();
    const running = this.running();
    const away = running.map((member) => {
      const since = this.members.get(member) ?? null;
      return { member, since, mayRest: since !== null && member.mayRest(since, now) };
    });
    for (const { member } of toRest(away, now)) void member.rest();
    if (running.length > MOST_RUNNING) this.lookIn(LOOK_MS);
  }

  private lookIn(ms: number): void {
    // One that is on its way already comes soon enough: it looks again while there are too many.
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.look();
    }, ms);
  }
}

/** The Views of this window. */
export const crowd = new Crowd(() => performance.now());
