import { describe, expect, it } from "vitest";
import { arrow, firstBox, fit, moved, resized, STEP } from "./pip";

const WINDOW = { width: 1280, height: 800 };

describe("a View's box", () => {
  it("stands at the right above the composer at first", () => {
    expect(firstBox(WINDOW)).toEqual({ left: 864, top: 372, width: 400, height: 300 });
  });

  it("stays within the window, wherever it is moved", () => {
    const box = firstBox(WINDOW);
    expect(moved(box, { x: -5000, y: -5000 }, WINDOW)).toMatchObject({ left: 0, top: 0, width: 400, height: 300 });
    expect(moved(box, { x: 5000, y: 5000 }, WINDOW)).toMatchObject({ left: 880, top: 500, width: 400, height: 300 });
  });

  it("keeps its upper left corner when it is resized, and a size that can be used", () => {
    const box = firstBox(WINDOW);
    expect(resized(box, { x: 5000, y: 5000 }, WINDOW)).toEqual({ left: 864, top: 372, width: 416, height: 428 });
    expect(resized(box, { x: -5000, y: -5000 }, WINDOW)).toEqual({ left: 864, top: 372, width: 240, height: 160 });
  });

  it("follows a window that shrinks, also below its least size", () => {
    expect(fit(firstBox(WINDOW), { width: 500, height: 250 })).toEqual({ left: 100, top: 0, width: 400, height: 250 });
    expect(fit(firstBox(WINDOW), { width: 200, height: 100 })).toEqual({ left: 0, top: 0, width: 200, height: 100 });
  });

  it("is moved by the arrow keys and by no other", () => {
    expect(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "a"].map(arrow)).toEqual([
      { x: -STEP, y: 0 },
      { x: STEP, y: 0 },
      { x: 0, y: -STEP },
      { x: 0, y: STEP },
      null,
    ]);
  });
});
