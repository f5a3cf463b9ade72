/** Who may have the keyboard, told by what the page sees of the user. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { KeyboardGuard } from "./keyboard";

afterEach(() => {
  document.body.replaceChildren();
  vi.restoreAllMocks();
});

/** A field that has the focus, a frame, and a hand on the clock. */
function scene(onthief: () => void = () => undefined) {
  const clock = { now: 100_000 };
  const field = document.createElement("textarea");
  const frame = document.createElement("iframe");
  document.body.append(field, frame);
  const guard = new KeyboardGuard(window, () => clock.now);
  const unguard = guard.guard(frame, onthief);
  field.focus();
  return {
    clock,
    field,
    frame,
    unguard,
    hover: (is: boolean) => vi.spyOn(frame, "matches").mockReturnValue(is),
    press: (key: string) => window.dispatchEvent(new KeyboardEvent("keydown", { key })),
    move: () => window.dispatchEvent(new Event("pointermove")),
    /** The View's page takes the focus. */
    take: () => {
      frame.focus();
      window.dispatchEvent(new Event("blur"));
    },
  };
}

describe("KeyboardGuard", () => {
  it("gives the keyboard back when a frame takes it from a text field", () => {
    const { field, take } = scene();
    take();
    expect(document.activeElement).toBe(field);
  });

  it("lets the user click into a frame and tab to it", () => {
    const clicked = scene();
    clicked.hover(true);
    clicked.take();
    expect(document.activeElement).toBe(clicked.frame);
    const tabbed = scene();
    tabbed.press("Tab");
    tabbed.take();
    expect(document.activeElement).toBe(tabbed.frame);
  });

  it("does not take a pointer that rests over the frame for a click while the user types", () => {
    const { clock, field, frame, hover, move, press, take } = scene();
    hover(true);
    move();
    clock.now += 3000;
    press("a");
    clock.now += 200;
    take();
    expect(document.activeElement).toBe(field);
    clock.now += 100;
    move();
    take();
    expect(document.activeElement).toBe(frame);
  });

  it("is told of a frame that does not stop, once", () => {
    const onthief = vi.fn();
    const { clock, take } = scene(onthief);
    for (let times = 0; times < 4; times += 1) take();
    clock.now += 11_000;
    for (let times = 0; times < 4; times += 1) take();
    expect(onthief).not.toHaveBeenCalled();
    for (let times = 0; times < 4; times += 1) take();
    expect(onthief).toHaveBeenCalledOnce();
  });

  it("leaves what is not a text field, and a frame that is not guarded any more", () => {
    const { field, frame, move, take, unguard } = scene();
    field.blur();
    move();
    take();
    expect(document.activeElement).toBe(frame);
    const gone = scene();
    gone.unguard();
    gone.take();
    expect(document.activeElement).toBe(gone.frame);
    unguard();
  });
});
