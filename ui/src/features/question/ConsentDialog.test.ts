import { fireEvent, render, screen, waitFor } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import type { AskedView } from "../../bindings/AskedView";
import { fakePlatform } from "../../platform/fake";
import { Store } from "../../state/store.svelte";
import QuestionStage from "./QuestionStage.test.svelte";

async function stage(asked: AskedView) {
  const store = new Store(fakePlatform({ now: () => 1, stepMs: 1 }));
  await store.start();
  const rpc = vi.spyOn(store, "rpc").mockResolvedValue(null as never);
  const { unmount } = render(QuestionStage, { store, question: { id: "q1", server_name: "Sample", asked } });
  return { rpc, unmount };
}

const words = (change: object = {}): AskedView => ({ kind: "view_words", tool: "refresh", is_message: true, text: "Delete\u202eall", pictures: [], left_out: null, ...change });
const link: AskedView = { kind: "view_link", tool: "refresh", url: "https://example.com/a?b=c", host: "example.com" };
const answered = (action: string) => ["answer_question", { question_id: "q1", action, content_json: null }] as const;

describe("words of a View", () => {
  it("are shown exactly, with whose they are, and are let in only after they could be read", async () => {
    const { rpc } = await stage(words());
    const dialog = screen.getByRole("dialog");
    expect(dialog.textContent).toContain("Let a View of Sample speak to the model?");
    expect(dialog.textContent).toContain("The View of Sample (refresh)");
    expect(screen.getByTestId("view-consent-text").textContent).toBe("DeleteU+202Eall");
    expect(screen.queryByTestId("view-consent-left-out")).toBeNull();
    // The focus begins on the dialog itself, so that a key that was meant for another place agrees to nothing.
    await waitFor(() => expect(document.activeElement).toBe(dialog));
    const settled = vi.spyOn(performance, "now").mockReturnValue(0);
    await userEvent.click(screen.getByRole("button", { name: "Allow once" }));
    await userEvent.click(screen.getByRole("button", { name: "Allow for this View" }));
    expect(rpc).not.toHaveBeenCalled();
    settled.mockRestore();
    await waitFor(async () => {
      await userEvent.click(screen.getByRole("button", { name: "Allow once" }));
      expect(rpc).toHaveBeenCalledExactlyOnceWith(...answered("accept"));
    });
  });

  it("can be allowed for this View, and refused at once", async () => {
    let { rpc, unmount } = await stage(words());
    await waitFor(async () => {
      await userEvent.click(screen.getByRole("button", { name: "Allow for this View" }));
      expect(rpc).toHaveBeenCalledExactlyOnceWith(...answered("accept_for_view"));
    });
    unmount();
    ({ rpc, unmount } = await stage(words()));
    await userEvent.click(screen.getByRole("button", { name: "Refuse" }));
    expect(rpc).toHaveBeenCalledExactlyOnceWith(...answered("decline"));
    unmount();
  });

  it("that are kept before the model are asked about once, with what is left out; Escape is a no", async () => {
    const { rpc } = await stage(words({ is_message: false, text: "Row 7", left_out: "2 pictures and 1 link" }));
    expect(screen.getByRole("dialog").textContent).toContain("keep this before the model");
    expect(screen.getByTestId("view-consent-left-out").textContent).toContain("2 pictures and 1 link");
    expect(screen.queryByRole("button", { name: "Allow once" })).toBeNull();
    await userEvent.keyboard("{Escape}");
    expect(rpc).toHaveBeenCalledExactlyOnceWith(...answered("cancel"));
  });
});

describe("pictures of a View", () => {
  const picture = (at: number) => ({ url: `usher-media://localhost/h/${at}`, mime: "image/png", bytes: 2048, width: 640, height: 480 });
  const images = () => screen.getAllByRole<HTMLImageElement>("img");

  it("are shown as they would go, with what they are, and are let in only once all were drawn", async () => {
    const { rpc } = await stage(words({ text: "Look", pictures: [picture(0), picture(1)] }));
    expect(screen.getByRole("dialog").textContent).toContain("add these words and pictures");
    expect(images().map((it) => [it.getAttribute("src"), it.alt])).toEqual([
      ["usher-media://localhost/h/0", "Picture 1 of 2 that the View sends"],
      ["usher-media://localhost/h/1", "Picture 2 of 2 that the View sends"],
    ]);
    expect(screen.getByTestId("view-consent-pictures").textContent).toContain("Picture 2 of 2: image/png, 2.0 kB, 640 × 480");
    const allow = () => [screen.getByRole<HTMLButtonElement>("button", { name: "Allow once" }), screen.getByRole<HTMLButtonElement>("button", { name: "Allow for this View" })];
    await fireEvent.load(images()[0]!);
    expect(allow().map((it) => it.disabled)).toEqual([true, true]);
    await fireEvent.load(images()[1]!);
    // The time to look begins when all can be seen.
    expect(allow().map((it) => it.disabled)).toEqual([false, false]);
    await fireEvent.click(allow()[0]!);
    expect(rpc).not.toHaveBeenCalled();
    await waitFor(async () => {
      await userEvent.click(allow()[0]!);
      expect(rpc).toHaveBeenCalledExactlyOnceWith(...answered("accept"));
    });
  });

  it("stand alone where there are no words, and each pixel can be looked at by keyboard", async () => {
    await stage(words({ is_message: false, text: "", pictures: [picture(0)] }));
    expect(screen.queryByTestId("view-consent-text")).toBeNull();
    const look = screen.getByRole("button", { name: "Show each pixel of picture 1" });
    await waitFor(() => expect(document.activeElement).toBe(screen.getByRole("dialog")));
    for (let at = 0; at < 6 && document.activeElement !== look; at += 1) await userEvent.tab();
    expect(document.activeElement).toBe(look);
    expect(look.getAttribute("aria-pressed")).toBe("false");
    await userEvent.keyboard("{Enter}");
    expect(look.getAttribute("aria-pressed")).toBe("true");
    await userEvent.keyboard(" ");
    expect(look.getAttribute("aria-pressed")).toBe("false");
  });

  it("that cannot be drawn cannot be agreed to, and can be refused", async () => {
    const { rpc } = await stage(words({ pictures: [picture(0), picture(1)] }));
    await fireEvent.load(images()[0]!);
    await fireEvent.error(images()[1]!);
    expect(screen.getByRole("alert").textContent).toContain("Picture 2 of 2 cannot be drawn");
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Allow once" }).disabled).toBe(true);
    await userEvent.click(screen.getByRole("button", { name: "Refuse" }));
    expect(rpc).toHaveBeenCalledExactlyOnceWith(...answered("decline"));
  });
});

describe("files of a View", () => {
  it("are named with their sizes and where they go, and are saved only after a yes", async () => {
    const files = [{ name: "report\u202e.csv", bytes: 2048, from: null }, { name: "b.png", bytes: null, from: "ui://b\u202e" }];
    const { rpc } = await stage({ kind: "view_files", tool: "refresh", files, folder: "/home/ada/Downloads" });
    const dialog = screen.getByRole("dialog");
    expect(dialog.textContent).toContain("Save these 2 files?");
    expect(screen.getAllByRole("listitem").map((it) => it.textContent.replaceAll(/\s+/g, " ").trim())).toEqual(["reportU+202E.csv 2.0 kB", "b.png is read from Sample after a yes: ui://bU+202E"]);
    expect(dialog.textContent).toContain("/home/ada/Downloads");
    await waitFor(async () => {
      await userEvent.click(screen.getByRole("button", { name: "Save" }));
      expect(rpc).toHaveBeenCalledExactlyOnceWith(...answered("accept"));
    });
  });
});

describe("a View that asks", () => {
  it("can be stopped where it asks, by keyboard and at once", async () => {
    const files: AskedView = { kind: "view_files", tool: "refresh", files: [{ name: "a", bytes: 1, from: null }], folder: "/d" };
    for (const asked of [words(), words({ is_message: false }), link, files]) {
      const { rpc, unmount } = await stage(asked);
      await waitFor(() => expect(document.activeElement).toBe(screen.getByRole("dialog")));
      const stop = screen.getByRole("button", { name: "Stop this View" });
      for (let at = 0; at < 6 && document.activeElement !== stop; at += 1) await userEvent.tab();
      expect(document.activeElement).toBe(stop);
      await userEvent.keyboard("{Enter}");
      expect(rpc).toHaveBeenCalledExactlyOnceWith(...answered("stop_view"));
      unmount();
    }
  });
});

describe("an address of a View", () => {
  it("is shown whole with whose View asks, and a failure to open it is told", async () => {
    const { rpc } = await stage(link);
    const dialog = screen.getByRole("dialog");
    expect(dialog.textContent).toContain("https://example.com/a?b=c");
    expect(dialog.textContent).toContain("Open example.com?");
    expect(dialog.textContent).toContain("The View of Sample");
    rpc.mockRejectedValue({ what: "The address could not be opened: no browser.", safe: "The question still waits.", todo: "Decline." });
    await waitFor(async () => {
      await userEvent.click(screen.getByRole("button", { name: "Open" }));
      expect(rpc).toHaveBeenCalledExactlyOnceWith(...answered("accept"));
    });
    expect((await screen.findByRole("alert")).textContent).toContain("no browser");
    rpc.mockResolvedValue(null as never);
    await userEvent.click(screen.getByRole("button", { name: "Cancel" }));
    expect(rpc).toHaveBeenLastCalledWith(...answered("decline"));
  });
});
