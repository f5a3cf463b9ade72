import { configure } from "@testing-library/svelte";

// What is waited for comes or does not come; how long it takes says nothing.
configure({ asyncUtilTimeout: 10_000 });

// jsdom has no layout, so what measures elements is given the least that lets it run.
class NoResize implements ResizeObserver {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}

globalThis.ResizeObserver ??= NoResize;
Element.prototype.scrollIntoView ??= () => {};
Element.prototype.hasPointerCapture ??= () => false;
Element.prototype.animate ??= () =>
  ({ cancel() {}, finish() {}, finished: Promise.resolve() }) as unknown as Animation;
globalThis.matchMedia ??= (query: string) =>
  ({
    matches: false,
    media: query,
    onchange: null,
    addEventListener() {},
    removeEventListener() {},
    addListener() {},
    removeListener() {},
    dispatchEvent: () => false,
  }) as MediaQueryList;
