import { describe, expect, it } from "vitest";
import { windowKey } from "./keys";

const press = (key: string, more: Partial<KeyboardEvent> = {}) =>
  windowKey({ key, ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...more });

describe("a key in the window", () => {
  it("acts with Ctrl, and with Cmd", () => {
    for (const held of [{ ctrlKey: true }, { metaKey: true }]) {
      expect(press("n", held)).toEqual({ kind: "new" });
      expect(press("K", held)).toEqual({ kind: "search" });
      expect(press(",", held)).toEqual({ kind: "settings" });
      expect(press("1", held)).toEqual({ kind: "tab", index: 0 });
      expect(press("4", held)).toEqual({ kind: "tab", index: 3 });
      expect(press("5", held)).toEqual({ kind: "tab", index: 4 });
      expect(press("6", held)).toEqual({ kind: "tab", index: 5 });
      expect(press("7", held)).toBeNull();
    }
  });

  it("goes round the panes with F6", () => {
    expect(press("F6")).toEqual({ kind: "pane", back: false });
    expect(press("F6", { shiftKey: true })).toEqual({ kind: "pane", back: true });
  });

  it("is left alone otherwise", () => {
    expect(press("n")).toBeNull();
    expect(press("n", { ctrlKey: true, shiftKey: true })).toBeNull();
    expect(press("1", { ctrlKey: true, altKey: true })).toBeNull();
  });
});
