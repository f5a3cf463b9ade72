import { render, screen, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import type { CallState } from "../../bindings/CallState";
import type { ToolCallView } from "../../bindings/ToolCallView";
import { offerings } from "../../components/view/offerings.svelte";
import { demoCall, searchCall } from "../../platform/demo/conversation";
import { CHIP, demoServers } from "../../platform/demo/servers";
import BlocksProbe from "./BlocksProbe.test.svelte";
import ProbeSlot from "./ProbeSlot.test.svelte";
import ToolCard from "./ToolCard.svelte";

function show(call: ToolCallView) {
  const props = {
    conversationId: "c1",
    call,
    tool: demoServers()[0]!.tools.find((t) => t.name === call.tool) ?? null,
    slots: { ShownOutputs: ProbeSlot, ViewFrame: ProbeSlot, Blocks: BlocksProbe },
    onapprove: vi.fn(() => Promise.resolve()),
    oncancel: vi.fn(),
    onpick: vi.fn(),
  };
  return { props, ...render(ToolCard, props) };
}

const card = () => screen.getByTestId("tool-card");
const asking: CallState = { kind: "awaiting_approval", why: "It changes things." };

describe("a tool card", () => {
  it("says what each audience got and what reached nobody", () => {
    show(searchCall(7));
    expect(card().dataset).toMatchObject({ tool: "search_customers", state: "done" });
    expect(screen.getAllByTestId("chip").map((c) => [c.dataset.audience, c.dataset.format])).toEqual([
      ["assistant", "content"],
      ["user", "structured"],
    ]);
    expect(card().textContent).toContain("programmatic/structured, 2.2 kB, reached nobody.");
    expect(card().textContent).toContain("H19");
    expect(card().textContent).toContain("84 ms");
  });

  it.each<[CallState, string]>([
    [{ kind: "running", progress: null }, "running"],
    [{ kind: "tool_error" }, "the tool reports an error"],
    [{ kind: "failed", what: "The server ended.", todo: "Restart it." }, "The server ended. Restart it."],
    [{ kind: "refused" }, "refused by you"],
    [{ kind: "cancelled" }, "cancelled"],
    [{ kind: "interrupted" }, "interrupted when Usher ended"],
  ])("shows the state %o", (state, words) => {
    show(demoCall(1, "delete_account", { state }));
    expect(card().dataset.state).toBe(state.kind);
    expect(card().textContent).toContain(words);
    expect(screen.queryByTestId("approval-once")).toBeNull();
  });

  it("shows progress and can be cancelled while it runs", async () => {
    const { props } = show(
      demoCall(1, "t", { state: { kind: "running", progress: { done: 2, total: 5, message: "reading" } } }),
    );
    expect(screen.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("40");
    expect(card().textContent).toContain("reading");
    await userEvent.click(screen.getByRole("button", { name: "Cancel t" }));
    expect(props.oncancel).toHaveBeenCalledOnce();
  });

  it("opens what it was called with, with every digit", async () => {
    show(demoCall(1, "t", { arguments_json: '{"id":9007199254740993,"deep":{"list":[1,2]}}' }));
    expect(card().textContent).not.toContain("9007199254740993");
    await userEvent.click(screen.getByRole("button", { name: "Show what t was called with" }));
    expect(card().textContent).toContain('"id": 9007199254740993');
  });

  it("turns the inspector to itself from a chip", async () => {
    const { props } = show(searchCall(7));
    await userEvent.click(screen.getAllByTestId("chip")[0]!);
    expect(props.onpick).toHaveBeenCalledOnce();
  });

  it("draws a View only for a call that has one, and never anew", async () => {
    const view = { resource_uri: "ui://x", can_open: true, why_not: null, from_history: false, page_kept: true, refused: null };
    const call = demoCall(1, "t", { view, state: { kind: "running", progress: null } });
    const { rerender, props } = show(call);
    const frame = screen.getByTestId("probe");
    await rerender({ ...props, call: { ...call, state: { kind: "done" }, deliveries: searchCall(7).deliveries } });
    await rerender({ ...props, call: { ...call, defects: [{ rule: "H19", text: "late" }] } });
    expect(screen.getByTestId("probe")).toBe(frame);
  });

  it("stays whole when a result cannot be drawn", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    show({ ...searchCall(7), tool: "throws" });
    expect(card().textContent).toContain("The result could not be drawn: no such thing");
    expect(screen.getAllByTestId("chip")).toHaveLength(2);
    await userEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(card().textContent).toContain("could not be drawn");
  });

  it("shows a delivery that local policy decided in its consumer's colour", () => {
    const delivery = { ...searchCall(7).deliveries[0]!, chip: null, door: "policy: content first" };
    show(demoCall(1, "t", { requested: [], revision: "2025-11-25", deliveries: [delivery] }));
    expect(screen.getByTestId("chip").dataset.audience).toBe("assistant");
    expect(screen.getByTestId("chip").title).toContain("policy: content first");
  });

  it("shows every consumer when two of them got the same bytes", () => {
    const [toModel, toUser] = searchCall(7).deliveries;
    show(demoCall(1, "t", { deliveries: [toModel!, { ...toUser!, handle: toModel!.handle }] }));
    expect(screen.getAllByTestId("chip")).toHaveLength(2);
  });

  it("says of a script of the model who read what it brought", () => {
    const { rerender, props } = show(demoCall(1, "run_script", { server_id: "" }));
    expect(card().textContent).toContain("The model read what it returned and printed.");
    return rerender({ ...props, call: demoCall(1, "t", {}) }).then(() => expect(card().textContent).toContain("It brought nothing for anybody."));
  });

  it("names a consumer once, however many parts it got", () => {
    const [, toUser] = searchCall(7).deliveries;
    show(demoCall(1, "t", { deliveries: [toUser!, { ...toUser!, chip: null, what: "_meta io.example/ui", bytes: 24 }] }));
    expect(screen.getByTestId("chip").title).toContain("24 B: _meta io.example/ui");
  });

  it("marks what was withheld even when nothing tells why by rule", () => {
    const [withheld] = searchCall(7).withheld;
    show(demoCall(1, "t", { withheld: [{ ...withheld!, chip: null, what: "result _meta", rule: null, why: "It has no audience." }] }));
    expect(card().textContent).toContain("result _meta, 2.2 kB, reached nobody. It has no audience.");
  });
});

describe("an approval", () => {
  it("shows the arguments and calls the server's words hints", () => {
    show(demoCall(1, "delete_account", { state: asking, arguments_json: '{"account":"Globex"}', requested: [CHIP.assistant] }));
    const ask = within(screen.getByRole("group", { name: "Allow Sample to run delete_account?" }));
    expect(ask.getByText(/"account": "Globex"/)).toBeTruthy();
    expect(ask.getByText("Hints of the server, not checked: it changes things and may destroy them.")).toBeTruthy();
    expect(ask.getAllByRole("button").map((b) => b.textContent?.trim())).toEqual([
      "Allow once",
      "This conversation",
      "This tool",
      "This server",
      "Refuse",
      "Never",
    ]);
  });

  it("of a View's own tool says whose it is, and a yes stands for the conversation at most", () => {
    const own = { tools: [{ name: "clear", description: null, input_schema_json: "{}", read_only: true, destructive: false }], left_out: [] };
    offerings.set("c9", { conversationId: "c1", number: 1, label: "View of show, call 1", own });
    show(demoCall(1, "clear", { state: asking, server_id: "", server_name: "View of show, call 1", of_view: "c9" }));
    const ask = within(screen.getByRole("group", { name: "Allow View of show, call 1 to run clear?" }));
    expect(ask.getByTestId("approval-of-view").textContent).toContain("a tool that the View offers itself");
    expect(ask.getByText("Hints of the View, not checked: it only reads.")).toBeTruthy();
    expect(ask.getAllByRole("button").map((b) => b.textContent?.trim())).toEqual(["Allow once", "This conversation", "Refuse"]);
    offerings.delete("c9");
  });

  it.each(["once", "conversation", "tool", "server", "refuse", "never"] as const)("answers %s", async (choice) => {
    const { props } = show(demoCall(1, "delete_account", { state: asking }));
    await userEvent.click(screen.getByTestId(`approval-${choice}`));
    expect(props.onapprove).toHaveBeenCalledExactlyOnceWith(choice);
  });

  it("is answered once, however often it is pressed", async () => {
    const { props } = show(demoCall(1, "delete_account", { state: asking }));
    await userEvent.dblClick(screen.getByTestId("approval-once"));
    await userEvent.click(screen.getByTestId("approval-never"));
    expect(props.onapprove).toHaveBeenCalledExactlyOnceWith("once");
  });

  it("can be answered again when the answer did not arrive", async () => {
    const { props } = show(demoCall(1, "delete_account", { state: asking }));
    props.onapprove.mockRejectedValueOnce(new Error("lost"));
    await userEvent.click(screen.getByTestId("approval-once"));
    await userEvent.click(screen.getByTestId("approval-refuse"));
    expect(props.onapprove.mock.calls).toEqual([["once"], ["refuse"]]);
  });

  it("does not take the focus, so that a key that was on its way allows nothing", () => {
    show(demoCall(1, "delete_account", { state: asking }));
    expect(document.activeElement).toBe(document.body);
  });
});
