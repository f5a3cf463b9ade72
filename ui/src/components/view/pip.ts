/** The box of a View that stands above the conversation: where it is, and how it is moved and resized within the window. */

/** A box in pixels of the window. */
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** A size in pixels. */
export interface Size {
  width: number;
  height: number;
}

/** What one press of an arrow key moves, in pixels. */
export const STEP = 16;
const LEAST: Size = { width: 240, height: 160 };
const FIRST: Size = { width: 400, height: 300 };
/** How far it keeps from the window's edges at first; below it the composer stays free. */
const MARGIN = 16;
const ABOVE = 128;

/** Where a box stands at first: at the right, above the composer. */
export function firstBox(window: Size): Box {
  return fit({ ...FIRST, left: window.width - FIRST.width - MARGIN, top: window.height - FIRST.height - ABOVE }, window);
}

/** The box within the window, wherever it would be. */
export function fit(box: Box, window: Size): Box {
  const width = between(box.width, LEAST.width, window.width);
  const height = between(box.height, LEAST.height, window.height);
  return { width, height, left: between(box.left, 0, window.width - width), top: between(box.top, 0, window.height - height) };
}

export function moved(box: Box, by: { x: number; y: number }, window: Size): Box {
  return fit({ ...box, left: box.left + by.x, top: box.top + by.y }, window);
}

/** The lower right corner is drawn; the upper left one stays. */
export function resized(box: Box, by: { x: number; y: number }, window: Size): Box {
  const room = { width: window.width - box.left, height: window.height - box.top };
  const width = between(box.width + by.x, LEAST.width, room.width);
  const height = between(box.height + by.y, LEAST.height, room.height);
  return fit({ ...box, width, height }, window);
}

/** What an arrow key moves by. */
export function arrow(key: string): { x: number; y: number } | null {
  switch (key) {
    case "ArrowLeft":
      return { x: -STEP, y: 0 };
    case "ArrowRight":
      return { x: STEP, y: 0 };
    case "ArrowUp":
      return { x: 0, y: -STEP };
    case "ArrowDown":
      return { x: 0, y: STEP };
    default:
      return null;
  }
}

/** A window smaller than the least box shows what fits. */
function between(value: number, least: number, most: number): number {
  return Math.round(Math.max(Math.min(value, most), Math.min(least, Math.max(most, 0))));
}
