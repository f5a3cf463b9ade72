import { render, screen } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import type { LedgerRow } from "../../bindings/LedgerRow";
import Ledger from "./Ledger.svelte";

const row: LedgerRow = {
  seq: 4,
  at_ms: 0,
  call_id: "call-1",
  icon: "note",
  text: "content is a lossy summary: structuredContent has 12 more values",
  detail: "",
  rule: null,
  color: null,
  reasons: ['/chats/0/id: "a"'],
  handle: null,
  reads: "content_first",
};

describe("a result whose halves differ", () => {
  it("is turned round for its tool with one click, and back", async () => {
    const onswitch = vi.fn();
    const { rerender } = render(Ledger, { rows: [row], onopen: vi.fn(), turned: () => null, onswitch });
    await userEvent.click(screen.getByRole("button", { name: "Give it structuredContent of this tool" }));
    expect(onswitch).toHaveBeenLastCalledWith(row, "structured_first");
    expect(screen.queryByText(/From its next call on/)).toBeNull();
    await rerender({ turned: () => "structured_first" });
    expect(screen.getByText(/From its next call on, the model reads structuredContent/)).toBeDefined();
    await userEvent.click(screen.getByRole("button", { name: "Undo" }));
    expect(onswitch).toHaveBeenLastCalledWith(row, "content_first");
    await rerender({ turned: () => "content_first" });
    expect(screen.getByText(/The model read content/)).toBeDefined();
  });

  it("offers nothing where no half was chosen", () => {
    render(Ledger, { rows: [{ ...row, reads: null }], onopen: vi.fn(), turned: () => null, onswitch: vi.fn() });
    expect(screen.queryByTestId("switch-policy")).toBeNull();
  });
});
