import { configure, render, screen, waitFor } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import type { BlockView } from "../../bindings/BlockView";
import type { ShownOutput } from "../../bindings/ShownOutput";
import type { ToolCallView } from "../../bindings/ToolCallView";
import type { Platform } from "../../platform/types";
import { Store } from "../../state/store.svelte";
import Stage from "./OutputsStage.test.svelte";

// A busy machine may take seconds to load what is loaded on first use; the tests wait for it, and measure no time.
configure({ asyncUtilTimeout: 20_000 });
vi.setConfig({ testTimeout: 60_000 });

const BIG = "9007199254740993";

function call(...shown: ShownOutput[]): ToolCallView {
  return {
    call_id: "c1",
    number: 1,
    server_id: "s",
    server_name: "Sample",
    tool: "search",
    of_view: null,
    title: null,
    arguments_json: "{}",
    origin: "model",
    state: { kind: "done" },
    mode: "chat",
    revision: "2026-12-01",
    requested: [],
    deliveries: [],
    withheld: [],
    defects: [],
    shown,
    view: null,
    elapsed_ms: 1,
  };
}

const TABLE: ShownOutput = {
  kind: "table",
  handle: "t",
  columns: [
    { key: "id", title: "Id", numeric: true },
    { key: "more", title: "More", numeric: false },
  ],
  rows: 100_000,
  bytes: 5_000_000,
};

function stage(shown: ShownOutput): Array<[string, Record<string, unknown>]> {
  const asked: Array<[string, Record<string, unknown>]> = [];
  const platform = {
    rpc: (cmd: string, payload: Record<string, unknown>) => {
      asked.push([cmd, payload]);
      const offset = Number(payload["offset"] ?? 0);
      if (cmd === "table_window") {
        const rows = Array.from({ length: 200 }, () => [
          { kind: "number", text: BIG },
          { kind: "nested", text: "{…}", pointer: `/${offset}/more` },
        ]);
        return Promise.resolve({ matching: 100_000, total: 100_000, offset, rows });
      }
      if (cmd === "json_children") {
        const child = { key: "total", pointer: `${String(payload["pointer"])}/total`, kind: "number", text: `${BIG}.10`, count: 0 };
        return Promise.resolve({ pointer: payload["pointer"], kind: "object", count: 1, offset: 0, children: [child] });
      }
      return Promise.resolve(null);
    },
    subscribe: () => new Promise(() => undefined),
  } as unknown as Platform;
  render(Stage, { store: new Store(platform), call: call(shown) });
  return asked;
}

const blocks = (...list: BlockView[]): ShownOutput => ({ kind: "blocks", handle: "b", blocks: list });

describe("a table", () => {
  it("draws a hundred thousand rows from one page, with every digit", async () => {
    const asked = stage(TABLE);
    expect((await screen.findAllByText(BIG)).length).toBeLessThan(60);
    expect(asked).toEqual([["table_window", { handle: "t", sort: null, filter: "", offset: 0, limit: 200 }]]);
    expect(screen.getByRole("table").getAttribute("aria-rowcount")).toBe("100001");
  });

  it("sorts by the header and says so", async () => {
    const asked = stage(TABLE);
    await screen.findAllByText(BIG);
    await userEvent.click(screen.getByRole("button", { name: "Id" }));
    expect(screen.getAllByRole("columnheader")[0]?.getAttribute("aria-sort")).toBe("ascending");
    expect(asked.at(-1)?.[1]).toMatchObject({ sort: { column: "id", descending: false }, offset: 0 });
  });

  it("filters in Rust", async () => {
    const asked = stage(TABLE);
    await userEvent.type(screen.getByTestId("table-filter"), "globex");
    await waitFor(() => {
      expect(asked.at(-1)?.[1]).toMatchObject({ filter: "globex" });
    });
  });

  it("opens a nested value at its pointer", async () => {
    const asked = stage(TABLE);
    await userEvent.click((await screen.findAllByText("{…}"))[0] as HTMLElement);
    await screen.findByTestId("json-tree");
    expect(asked.at(-1)).toEqual(["json_children", { handle: "t", pointer: "/0/more", offset: 0, limit: 200 }]);
  });

  it("saves what is looked at", async () => {
    const asked = stage(TABLE);
    await userEvent.click(screen.getByTestId("table-save-csv"));
    expect(asked.at(-1)).toEqual(["save_output", { handle: "t", format: "csv", index: null, sort: null, filter: "" }]);
  });
});

describe("showing the model", () => {
  it("asks first, and sends once", async () => {
    const asked = stage(TABLE);
    await userEvent.click(screen.getByTestId("show-the-model"));
    expect(asked.map(([cmd]) => cmd)).not.toContain("show_the_model");
    await userEvent.click(screen.getByTestId("show-the-model-confirm"));
    expect(asked.filter(([cmd]) => cmd === "show_the_model")).toEqual([["show_the_model", { conversation_id: "c", handle: "t" }]]);
    expect(screen.queryByTestId("show-the-model")).toBeNull();
  });
});

describe("properties and blocks", () => {
  it("shows an object's values with every digit", async () => {
    stage({ kind: "properties", handle: "p", bytes: 30 });
    expect(await screen.findByText(`${BIG}.10`)).toBeDefined();
  });

  it("reads a link only when asked", async () => {
    const asked = stage(blocks({ kind: "link", uri: "file:///secret", name: "S", description: null, mime: null, size: null }));
    expect(asked).toEqual([]);
    expect(screen.queryByText("Open outside")).toBeNull();
    await userEvent.click(screen.getByTestId("read-resource"));
    expect(asked).toEqual([["read_resource", { conversation_id: "c", call_id: "c1", uri: "file:///secret" }]]);
  });

  it("asks before a web address is opened", async () => {
    const asked = stage(blocks({ kind: "link", uri: "https://example.com/a", name: "A", description: null, mime: null, size: null }));
    await userEvent.click(screen.getByText("Open outside"));
    expect(asked).toEqual([]);
  });

  it("makes a file a card that can be saved", async () => {
    const asked = stage(blocks({ kind: "file", handle: "f", index: 2, name: "report.pdf", mime: "application/pdf", bytes: 2048 }));
    expect(screen.getByTestId("shown-file").textContent).toContain("report.pdf");
    expect(screen.getByTestId("shown-file").textContent).toContain("application/pdf");
    await userEvent.click(screen.getByRole("button", { name: "Save" }));
    expect(asked.at(-1)).toEqual(["save_output", { handle: "f", format: "file", index: 2, sort: null, filter: "" }]);
  });

  it("plays, pictures and keeps what it does not know", () => {
    stage(
      blocks(
        { kind: "image", url: "usher-data://i", mime: "image/png", bytes: 10 },
        { kind: "audio", url: "usher-data://a", mime: "audio/wav", bytes: 10 },
        { kind: "text", text: "<img src=x onerror=alert(1)>hello" },
        { kind: "unknown", json: `{"type":"new","id":${BIG}}` },
      ),
    );
    expect(screen.getByTestId("shown-image").getAttribute("src")).toBe("usher-data://i");
    expect(screen.getByTestId("shown-audio").getAttribute("src")).toBe("usher-data://a");
    expect(screen.getByTestId("shown-unknown").textContent).toContain(`"id": ${BIG}`);
    expect(document.querySelector("[onerror]")).toBeNull();
  });
});
