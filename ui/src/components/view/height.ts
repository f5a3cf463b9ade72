/**
 * The height of a View's frame. The View reports what it needs and is shown in what it gets, so each is told by the
 * other: one that fills its frame, or whose content wraps otherwise in a higher frame, would go on for ever.
 */
import { MOST_HEIGHT } from "./host-context";

/** The least height in pixels. */
export const LEAST_HEIGHT = 40;
/** A View that fills its frame reports a height a little off; following it would shrink it with each report. */
const ECHO = 2;
/** So many turns from growing to shrinking or back within `QUIET_MS` are a loop. */
const MOST_TURNS = 8;
/** Milliseconds without a turn after which a View is believed again. */
const QUIET_MS = 2000;

export class HeightKeeper {
  private grew: boolean | null = null;
  private turns = 0;
  private turned = Number.NEGATIVE_INFINITY;

  /** `now` gives milliseconds. */
  constructor(
    private height: number,
    private readonly now: () => number,
  ) {}

  /** The height to show, after a report. In a loop it only grows. */
  next(reported: number | undefined): number {
    if (reported === undefined || !Number.isFinite(reported)) return this.height;
    const wanted = Math.round(Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, reported)));
    if (Math.abs(wanted - this.height) <= ECHO) return this.height;
    const now = this.now();
    if (now - this.turned > QUIET_MS) this.turns = 0;
    const grows = wanted > this.height;
    if (this.grew !== null && grows !== this.grew) {
      this.turns += 1;
      this.turned = now;
    }
    if (this.turns > MOST_TURNS && !grows) return this.height;
    this.grew = grows;
    this.height = wanted;
    return wanted;
  }
}
