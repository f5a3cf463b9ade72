import { configure, render, screen, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import type { LedgerRow } from "../../bindings/LedgerRow";
import type { Platform } from "../../platform/types";
import { fakePlatform } from "../../platform/fake";
import { Store } from "../../state/store.svelte";
import Stage from "./RoutingStage.test.svelte";
import { ruleText } from "../../components/rules";

// A busy machine may take seconds; the tests wait for it, and measure no time.
configure({ asyncUtilTimeout: 20_000 });
vi.setConfig({ testTimeout: 60_000 });

/** The demonstration's first conversation, turned to the call whose third output was withheld. */
async function stage() {
  const asked: string[] = [];
  const demo = fakePlatform();
  const platform: Platform = {
    subscribe: (since, onBatch) => demo.subscribe(since, onBatch),
    rpc: (cmd, payload) => {
      if ("handle" in payload) asked.push(`${cmd} ${String(payload.handle)}`);
      return demo.rpc(cmd, payload);
    },
  };
  const store = new Store(platform);
  await store.start();
  store.pickCall("call-7");
  const { unmount } = render(Stage, { store });
  return { asked, store, world: demo.world, unmount };
}

describe("the Routing tab", () => {
  it("opens the very bytes of each band, by pointer and by keyboard", async () => {
    const { asked } = await stage();
    const bands = within(screen.getByTestId("routing-flow")).getAllByRole("button");
    expect(bands).toHaveLength(5);
    await userEvent.click(bands[2] as Element);
    expect(await screen.findByTestId("payload-dialog")).toBeDefined();
    await screen.findByTestId("payload-text");
    await userEvent.click(screen.getByLabelText("Close"));
    expect(screen.queryByTestId("payload-dialog")).toBeNull();
    bands[4]?.focus();
    await userEvent.keyboard("{Enter}");
    await screen.findByTestId("payload-text");
    expect(asked).toEqual(["payload_text h-7-withheld", "payload_text h-7-user"]);
  });

  it("puts the rule on the row, with what it says", async () => {
    await stage();
    const rows = screen.getAllByTestId("ledger-row");
    expect(rows.map((row) => row.dataset["rule"])).toEqual(["", "", "H19", "", "", ""]);
    expect(screen.getByText("H19", { selector: "abbr" }).title).toContain("H19: Of a successful result");
    expect(ruleText("H99")).toBe("Rule H99");
  });

  it("knows on every row and after a look at another tab what the model reads of a tool, also when it was chosen elsewhere", async () => {
    const { store, world, unmount } = await stage();
    const about = store.call!;
    const row: LedgerRow = { seq: 900, at_ms: 0, call_id: about.call_id, icon: "note", text: "halves differ", detail: "", rule: null, color: null, reasons: [], handle: null, reads: "content_first" };
    world.emit({ type: "ledger_appended", conversation_id: store.conversationId!, rows: [row] });
    await userEvent.click(await screen.findByTestId("switch-policy"));
    await screen.findByText(/From its next call on, the model reads structuredContent/);
    unmount();
    render(Stage, { store });
    expect(screen.getByText(/From its next call on, the model reads structuredContent/)).toBeDefined();
    await store.rpc("set_legacy_policy", { server_id: about.server_id, tool: about.tool, policy: "content_first" });
    await screen.findByText(/The model read content/);
  });

  it("says why when asked", async () => {
    await stage();
    const why = screen.getByRole("button", { name: "why" });
    expect(why.getAttribute("aria-expanded")).toBe("false");
    await userEvent.click(why);
    expect(screen.getByText(/mode Chat speaks to the model/)).toBeDefined();
  });
});
