import { describe, expect, it } from "vitest";
import { CALM_MS, Displays, MODES, offered } from "./display.svelte";

function window() {
  const clock = { now: 0 };
  return { clock, displays: new Displays(() => clock.now) };
}

describe("the modes of a View", () => {
  it("are those that it declared and its own place, and all if it declared nothing", () => {
    expect(offered(undefined)).toEqual(MODES);
    expect(offered([])).toEqual(["inline"]);
    expect(offered(["fullscreen", "hologram"])).toEqual(["inline", "fullscreen"]);
  });
});

describe("the displays of a window", () => {
  it("show one View in the whole window and one in a box, and send back who was there", () => {
    const { displays } = window();
    const [a, b, c] = [{}, {}, {}];
    displays.show(a, "fullscreen");
    displays.show(b, "pip");
    expect([a, b, c].map((it) => displays.mode(it))).toEqual(["fullscreen", "pip", "inline"]);
    displays.show(c, "fullscreen");
    expect([a, b, c].map((it) => displays.mode(it))).toEqual(["inline", "pip", "fullscreen"]);
    displays.show(c, "pip");
    expect([a, b, c].map((it) => displays.mode(it))).toEqual(["inline", "inline", "pip"]);
    expect(displays.covered).toBe(false);
  });

  it("give a View what it asks for, but no other View's place and no mode that it did not declare", () => {
    const { displays } = window();
    const [a, b] = [{}, {}];
    expect(displays.wish(a, "fullscreen", MODES)).toBe("fullscreen");
    expect(displays.wish(b, "fullscreen", MODES)).toBe("inline");
    expect(displays.wish(a, "pip", ["inline", "fullscreen"])).toBe("fullscreen");
    expect(displays.wish(a, "inline", ["inline"])).toBe("inline");
    expect(displays.wish(b, "fullscreen", MODES)).toBe("fullscreen");
  });

  it("leave a View where the user put it: it moves itself no more, however long it waits and whatever it asks", () => {
    const { clock, displays } = window();
    const mine = displays.of(() => "server");
    const view = {};
    expect(mine.wish(view, "fullscreen", MODES)).toBe("fullscreen");
    displays.uncover();
    for (const wait of [0, 3000, CALM_MS, 100 * CALM_MS]) {
      clock.now = wait;
      expect([mine.wish(view, "fullscreen", MODES), mine.wish(view, "pip", MODES)]).toEqual(["inline", "inline"]);
    }
    // The user may, and the View may go home; not back.
    mine.show(view, "fullscreen");
    expect(mine.wish(view, "inline", MODES)).toBe("inline");
    expect(mine.wish(view, "fullscreen", MODES)).toBe("inline");
    // Another opening is another View.
    mine.forget(view);
    expect(mine.wish(view, "fullscreen", MODES)).toBe("fullscreen");
  });

  it("keep the other Views of a server quiet for a while after the user took one back, and no other server's", () => {
    const { clock, displays } = window();
    const [mine, others] = [displays.of(() => "server"), displays.of(() => "other")];
    const [a, b, c] = [{}, {}, {}];
    mine.wish(a, "pip", MODES);
    mine.show(a, "inline");
    clock.now = CALM_MS - 1;
    expect(mine.wish(b, "fullscreen", MODES)).toBe("inline");
    expect(others.wish(c, "pip", MODES)).toBe("pip");
    clock.now = CALM_MS;
    expect(mine.wish(b, "fullscreen", MODES)).toBe("fullscreen");
  });

  it("forget a View that is gone", () => {
    const { displays } = window();
    const view = {};
    displays.show(view, "fullscreen");
    displays.forget(view);
    expect([displays.covered, displays.mode(view)]).toEqual([false, "inline"]);
  });
});
