/**
 * How soon a question that a View raised can be agreed to. It comes when the View likes, so a click or key so early was
 * meant for something else. A no counts at once.
 */

/** In milliseconds. */
export const SETTLE_MS = 300;
