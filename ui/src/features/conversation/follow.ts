/**
 * Whether a scrolled box follows its end. Growth alone never lets go: only a reader who scrolls up does,
 * because what grows between a scroll and its event would else look like a reader who went away.
 * Deliberately absent: when to scroll, which is the box's own affair.
 */

/** How near the end still counts as being there, in pixels. */
export const NEAR = 48;

/** The measures of a box, in pixels. */
export interface Measures {
  scrollTop: number;
  scrollHeight: number;
  clientHeight: number;
}

/** Whether the end is followed after a scroll event; `topBefore` is where the box stood before it. */
export function follows(before: boolean, topBefore: number, box: Measures): boolean {
  if (box.scrollHeight - box.scrollTop - box.clientHeight < NEAR) return true;
  return before && box.scrollTop >= topBefore - 1;
}
