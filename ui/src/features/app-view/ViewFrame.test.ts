import { configure, render, screen, waitFor } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import type { ToolCallView } from "../../bindings/ToolCallView";
import type { ViewLaunch } from "../../bindings/ViewLaunch";
import type { Platform } from "../../platform/types";
import { Store } from "../../state/store.svelte";
import Stage from "./ViewStage.test.svelte";

// A busy machine may take seconds to load what is loaded on first use; the tests wait for it, and measure no time.
configure({ asyncUtilTimeout: 20_000 });
vi.setConfig({ testTimeout: 60_000 });

const ORIGIN = "mcpview://abc.localhost";

function call(view: ToolCallView["view"], state: ToolCallView["state"] = { kind: "done" }): ToolCallView {
  return {
    call_id: "c1",
    number: 1,
    server_id: "s",
    server_name: "Sample",
    tool: "refresh_dashboard",
    title: null,
    arguments_json: "{}",
    origin: "model",
    state,
    mode: "app",
    revision: "2026-12-01",
    requested: [],
    deliveries: [],
    withheld: [],
    defects: [],
    shown: [],
    view,
    elapsed_ms: 1,
  };
}

function store(asked: string[]): Store {
  const launch: ViewLaunch = {
    view_id: "v1",
    url: `${ORIGIN}/`,
    origin: ORIGIN,
    sandbox: "allow-scripts allow-same-origin allow-forms",
    allow: "clipboard-write",
    prefers_border: false,
    tool_json: '{"name":"refresh_dashboard","inputSchema":{"type":"object"}}',
    input_json: '{"arguments":{}}',
    result_json: '{"content":[]}',
    sandbox_capabilities_json: "{}",
    server_name: "Sample",
  };
  const platform = {
    rpc: (cmd: string) => {
      asked.push(cmd);
      return Promise.resolve(cmd === "open_view" ? launch : null);
    },
    subscribe: () => new Promise(() => undefined),
  } as unknown as Platform;
  return new Store(platform);
}

const SLOT = { resource_uri: "ui://x", can_open: true, why_not: null, from_history: false };

describe("ViewFrame", () => {
  it("makes one frame with what Rust granted, and loads it after the bridge listens", async () => {
    const asked: string[] = [];
    const { rerender } = render(Stage, { store: store(asked), call: call(SLOT) });
    const frame = await screen.findByTestId<HTMLIFrameElement>("view-frame");
    expect(frame.getAttribute("sandbox")).toBe("allow-scripts allow-same-origin allow-forms");
    expect(frame.getAttribute("allow")).toBe("clipboard-write");
    expect(frame.getAttribute("referrerpolicy")).toBe("no-referrer");
    await waitFor(() => {
      expect(frame.getAttribute("src")).toBe(`${ORIGIN}/`);
    });
    // Every change of the call draws the card again; the frame must stay the very same.
    await rerender({ call: call({ ...SLOT }, { kind: "tool_error" }) });
    expect(screen.getByTestId("view-frame")).toBe(frame);
    expect(asked).toEqual(["open_view"]);
  });

  it("waits for the user when the View is of an earlier run", async () => {
    const asked: string[] = [];
    render(Stage, { store: store(asked), call: call({ ...SLOT, from_history: true }) });
    expect(screen.getByTestId("view-placeholder").textContent).toContain("earlier session");
    expect(asked).toEqual([]);
    await userEvent.click(screen.getByRole("button", { name: "Replay" }));
    expect(await screen.findByTestId("view-frame")).toBeDefined();
  });

  it("says why it cannot be opened", () => {
    render(Stage, { store: store([]), call: call({ ...SLOT, can_open: false, why_not: "The page is too large." }) });
    expect(screen.getByTestId("view-placeholder").textContent).toContain("The page is too large.");
    expect(screen.queryByTestId("view-frame")).toBeNull();
  });

  it("takes the frame away when it is stopped, and tells Rust", async () => {
    const asked: string[] = [];
    render(Stage, { store: store(asked), call: call(SLOT) });
    const frame = await screen.findByTestId<HTMLIFrameElement>("view-frame");
    await waitFor(() => {
      expect(frame.getAttribute("src")).not.toBeNull();
    });
    await userEvent.click(screen.getByRole("button", { name: "Stop the View" }));
    await waitFor(() => {
      expect(screen.queryByTestId("view-frame")).toBeNull();
    });
    expect(asked).toEqual(["open_view", "close_view"]);
  });
});
