import { fireEvent, render, screen } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { tick } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fakePlatform } from "../../platform/fake";
import { Store } from "../../state/store.svelte";
import BlocksProbe from "./BlocksProbe.test.svelte";
import DoorItem from "./DoorItem.svelte";
import ProbeSlot from "./ProbeSlot.test.svelte";
import TranscriptStage from "./TranscriptStage.test.svelte";

/** A box of 400 pixels whose content is as high as a test says; jsdom has no layout of its own. */
class Layout {
  height = 1000;
  box = 400;
  top = 0;
  readonly observers: (() => void)[] = [];

  install() {
    const layout = this;
    vi.stubGlobal(
      "ResizeObserver",
      class {
        constructor(private readonly heard: () => void) {}
        observe() {
          layout.observers.push(this.heard);
        }
        unobserve() {}
        disconnect() {}
      },
    );
  }

  giveTo(node: HTMLElement) {
    const clamp = (value: number) => Math.max(0, Math.min(value, this.height - this.box));
    Object.defineProperties(node, {
      scrollHeight: { get: () => this.height },
      clientHeight: { get: () => this.box },
      scrollTop: { get: () => this.top, set: (value: number) => (this.top = clamp(value)) },
      scrollTo: { value: ({ top }: { top: number }) => (this.top = clamp(top)) },
    });
  }

  /** The content or the box gets another size, and whoever watches is told. */
  resize(to: { height?: number; box?: number }) {
    Object.assign(this, to);
    this.top = Math.min(this.top, this.height - this.box);
    for (const heard of this.observers) heard();
  }

  get fromEnd() {
    return this.height - this.box - this.top;
  }
}

it("says once that a model failed, with one way to try again", async () => {
  const store = new Store(fakePlatform({ now: () => 1_800_000_000_000, stepMs: 1 }));
  await store.start();
  await store.openConversation("c2");
  render(TranscriptStage, { store });
  const open = store.state!.open.c2!;
  const kind = { kind: "assistant", text: "", state: { kind: "broken", why: "Nothing answers." }, model: "m", usage: null } as const;
  const items = [...open.items, { id: "late", seq: 900, at_ms: 0, kind }];
  const turn = { kind: "failed", what: "Nothing answers.", safe: "Your message is saved.", todo: "Start it.", can_retry: true } as const;
  store.state = { ...store.state!, open: { ...store.state!.open, c2: { ...open, items, turn } } };
  await tick();
  const said = screen.getByTestId("transcript").textContent ?? "";
  expect(said.match(/Nothing answers/g)).toHaveLength(1);
  expect(said).not.toContain("What came is kept");
  expect(screen.getAllByRole("button", { name: "Try again" })).toHaveLength(1);
});

let layout: Layout;

async function stage() {
  const store = new Store(fakePlatform({ now: () => 1_800_000_000_000, stepMs: 1 }));
  await store.start();
  await store.openConversation("c2");
  render(TranscriptStage, { store });
  const log = screen.getByTestId("transcript");
  layout.giveTo(log);
  layout.resize({});
  await fireEvent.scroll(log);
  return { store, log };
}

async function scrollBy(log: HTMLElement, by: number) {
  log.scrollTop += by;
  await fireEvent.scroll(log);
}

describe("the transcript", () => {
  beforeEach(() => {
    layout = new Layout();
    layout.install();
  });
  afterEach(() => vi.unstubAllGlobals());

  it("stays at its end when something in it grows later", async () => {
    await stage();
    layout.resize({ height: 1600 });
    await tick();
    expect(layout.fromEnd).toBe(0);
    expect(screen.queryByTestId("jump")).toBeNull();
  });

  it("is not fooled by what grew between a scroll and its event", async () => {
    const { log } = await stage();
    layout.resize({ height: 1300 });
    layout.height = 1900;
    await fireEvent.scroll(log);
    layout.resize({});
    expect(layout.fromEnd).toBe(0);
    expect(screen.queryByTestId("jump")).toBeNull();
  });

  it("stays at its end when the composer below takes room, and when a View shrinks and grows", async () => {
    const { log } = await stage();
    layout.resize({ box: 300 });
    expect(layout.fromEnd).toBe(0);
    layout.resize({ height: 700 });
    layout.height = 1200;
    await fireEvent.scroll(log);
    layout.resize({});
    expect(layout.fromEnd).toBe(0);
  });

  it("leaves a reader who scrolled up alone, until they come back", async () => {
    const { log } = await stage();
    await scrollBy(log, -200);
    layout.resize({ height: 1600 });
    expect(layout.top).toBe(400);
    await userEvent.click(screen.getByTestId("jump"));
    expect(layout.fromEnd).toBe(0);
    await fireEvent.scroll(log);
    expect(screen.queryByTestId("jump")).toBeNull();
    layout.resize({ height: 1800 });
    expect(layout.fromEnd).toBe(0);
  });

  it("takes back what a door let in", async () => {
    const { store } = await stage();
    await store.ask("show_the_model", { conversation_id: "c2", handle: "h" });
    await vi.waitFor(() => expect(screen.getByTestId("item-door")).toBeTruthy());
    await userEvent.click(screen.getByRole("button", { name: "Take back" }));
    await vi.waitFor(() => expect(screen.queryByTestId("item-door")).toBeNull());
  });
});

describe("what a View said", () => {
  const door = { kind: "door" as const, text: "a View's message, refresh, call 1", chip: null, bytes: 12, is_message: true, words: "Row\u202e 7", pictures: null };
  const slots = { ShownOutputs: ProbeSlot, ViewFrame: ProbeSlot, Blocks: BlocksProbe };

  it("can be read where it stands, with nothing hidden", async () => {
    render(DoorItem, { door, slots, ontakeback: () => undefined });
    expect(screen.queryByTestId("item-door-words")).toBeNull();
    await userEvent.click(screen.getByRole("button", { name: "Show its words" }));
    expect(screen.getByTestId("item-door-words").textContent).toBe("RowU+202E 7");
    await userEvent.click(screen.getByRole("button", { name: "Hide its words" }));
    expect(screen.queryByTestId("item-door-words")).toBeNull();
  });

  it("is not repeated for what the user showed", () => {
    render(DoorItem, { door: { ...door, words: null }, slots, ontakeback: () => undefined });
    expect(screen.queryByTestId("item-door-show")).toBeNull();
  });

  it("has its pictures, which are not drawn before someone wants to see them", async () => {
    const blocks = [{ kind: "image" as const, url: "usher-media://localhost/h/0", mime: "image/png", bytes: 70 }];
    render(DoorItem, { door: { ...door, words: "", pictures: { handle: "h", blocks } }, slots, ontakeback: () => undefined });
    expect(screen.queryByTestId("item-door-pictures")).toBeNull();
    await userEvent.click(screen.getByRole("button", { name: "Show its pictures" }));
    expect(screen.getByTestId("item-door-pictures").textContent).toBe("image");
    expect(screen.queryByTestId("item-door-words")).toBeNull();
  });
});
