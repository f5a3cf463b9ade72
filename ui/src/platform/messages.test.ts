import { describe, expect, it } from "vitest";
import { MessageGuard, type GuardedWindow } from "./messages";

class Page implements GuardedWindow {
  private listener: (event: MessageEvent) => void = () => undefined;
  readonly isolation = { contentWindow: {} };
  captured = false;
  has = true;
  readonly document = { getElementById: (id: string) => (this.has && id === "__tauri_isolation__" ? this.isolation : null) };

  addEventListener(_: "message", listener: (event: MessageEvent) => void, options: { capture: boolean }): void {
    this.listener = listener;
    this.captured = options.capture;
  }

  /** Says whether a listener after the guard would have heard it. */
  post(source: unknown): boolean {
    let heard = true;
    this.listener({ source, stopImmediatePropagation: () => (heard = false) } as unknown as MessageEvent);
    return heard;
  }
}

describe("messages to the window", () => {
  it("reach the Views' filters alone, whatever they look like", () => {
    const page = new Page();
    const guard = new MessageGuard(page);
    const heard: unknown[] = [];
    guard.addEventListener("message", (event) => heard.push(event.source));
    const view = {};
    expect(page.captured).toBe(true);
    expect(page.post(view)).toBe(false);
    // A frame that is gone, and a worker, have no source.
    expect(page.post(null)).toBe(false);
    expect(heard).toEqual([view, null]);
  });

  it("of the isolation frame and of the window itself go on to whom they are for", () => {
    const page = new Page();
    const guard = new MessageGuard(page);
    const heard: unknown[] = [];
    guard.addEventListener("message", (event) => heard.push(event.source));
    expect(page.post(page.isolation.contentWindow)).toBe(true);
    expect(page.post(page)).toBe(true);
    expect(heard).toEqual([]);
    page.has = false;
    expect(page.post(page.isolation.contentWindow)).toBe(false);
    expect(page.post(null)).toBe(false);
  });

  it("are told with the frame of the window in which they were said, however deep", () => {
    const page = new Page();
    const guard = new MessageGuard(page);
    const heard: unknown[] = [];
    guard.addEventListener("message", (_, within) => heard.push(within));
    const frame = { parent: page };
    const document = { parent: frame };
    let deep: object = document;
    for (let index = 0; index < 40; index += 1) deep = { parent: deep };
    const other: { parent?: unknown } = {};
    other.parent = other;
    // A frame that is gone has no parent, and one around it may be gone with it; a page of its own is its own parent.
    for (const source of [frame, document, deep, { parent: null }, { parent: { parent: null } }, other, null]) page.post(source);
    expect(heard).toEqual([frame, frame, frame, null, null, null, null]);
  });

  it("are not heard by who stopped listening", () => {
    const page = new Page();
    const guard = new MessageGuard(page);
    let heard = 0;
    const listener = (): void => void (heard += 1);
    guard.addEventListener("message", listener);
    page.post({});
    guard.removeEventListener("message", listener);
    page.post({});
    expect(heard).toBe(1);
  });
});
