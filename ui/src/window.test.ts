import { beforeEach, describe, expect, it } from "vitest";
import { Layout } from "./window.svelte";

describe("the bench in the whole window", () => {
  beforeEach(() => localStorage.clear());

  it.each([1280, 1000])("is seen in a window of %i pixels, and when it becomes narrower", (width) => {
    const layout = new Layout();
    // The width is known a moment after the bench was opened.
    layout.setInspector(true);
    layout.wide = true;
    layout.width = width;
    expect(layout.inspectorOpen).toBe(true);
    layout.width = 900;
    expect(layout.inspectorOpen).toBe(true);
  });

  it("stays as a pane when it gives the window back, and lies over nothing later where it stood beside", () => {
    const layout = new Layout();
    layout.width = 900;
    layout.setInspector(true);
    layout.wide = true;
    layout.wide = false;
    expect(layout.inspectorOpen).toBe(true);
    layout.width = 1280;
    layout.wide = true;
    layout.wide = false;
    layout.width = 900;
    expect(layout.inspectorOpen).toBe(false);
  });
});
