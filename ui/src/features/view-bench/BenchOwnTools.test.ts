import { render, screen } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import type { OwnToolsView } from "../../bindings/OwnToolsView";
import type { ViewAnswer } from "../../bindings/ViewAnswer";
import { fakePlatform } from "../../platform/fake";
import type { Platform } from "../../platform/types";
import { Store } from "../../state/store.svelte";
import Probe from "./BenchOwnToolsProbe.test.svelte";

const OWN: OwnToolsView = {
  tools: [
    { name: "paint_it", description: "Paints.", input_schema_json: '{"type":"object","required":["color"]}', read_only: true, destructive: false },
    { name: "clear", description: null, input_schema_json: '{"type":"object"}', read_only: false, destructive: false },
  ],
  left_out: ['"a b": a name has 1 to 64 letters.'],
};

function show(own: OwnToolsView, viewId: string | null, answer: () => Promise<ViewAnswer>) {
  const demo = fakePlatform();
  const asked: unknown[] = [];
  const platform = {
    subscribe: (since, onBatch) => demo.subscribe(since, onBatch),
    rpc: (cmd, payload) => {
      if (cmd !== "call_bench_tool") return demo.rpc(cmd, payload);
      asked.push(payload);
      return answer();
    },
  } as Platform;
  render(Probe, { store: new Store(platform), own, viewId });
  return asked;
}

const button = (): HTMLButtonElement => screen.getByTestId("bench-own-call");
const said = (): string => screen.getByTestId("bench-own-said").textContent;

describe("the tools of a View on the bench", () => {
  it("are shown with their schema and called with what was written, exactly", async () => {
    const asked = show(OWN, "v1", () => Promise.resolve({ kind: "result", json: '{"n":9007199254740993}' }));
    expect(screen.getByTestId("bench-own-input-schema").textContent).toContain('"required"');
    expect(screen.getByTestId("bench-own-left-out").textContent).toContain("a name has 1 to 64 letters.");
    const field = screen.getByTestId("bench-own-input");
    await userEvent.clear(field);
    await userEvent.type(field, '{{"color":1.10}');
    await userEvent.click(button());
    expect(asked).toEqual([{ view_id: "v1", tool: "paint_it", arguments_json: '{"color":1.10}' }]);
    expect(said()).toBe("The View answered paint_it.");
    expect(screen.getByTestId("bench-own-answer").textContent).toContain("9007199254740993");
    await userEvent.selectOptions(screen.getByTestId("bench-own-tool"), "clear");
    await userEvent.click(button());
    expect(asked[1]).toMatchObject({ tool: "clear" });
  });

  it("say how a call failed, in the View's words and in the host's", async () => {
    let answer: () => Promise<ViewAnswer> = () => Promise.resolve({ kind: "error", code: -32050, message: "no such colour", from_server: false });
    show(OWN, "v1", () => answer());
    await userEvent.click(button());
    expect(said()).toBe("paint_it failed: no such colour (-32050)");
    answer = () => Promise.reject({ what: "The arguments do not fit.", safe: "Nothing was sent to the View.", todo: "Correct it." });
    await userEvent.click(button());
    expect(said()).toBe("The arguments do not fit. Nothing was sent to the View.");
    expect(screen.queryByTestId("bench-own-answer")).toBeNull();
  });

  it("cannot be called while no View runs, or with what is no JSON", async () => {
    show(OWN, "v1", () => Promise.reject(new Error("never")));
    await userEvent.clear(screen.getByTestId("bench-own-input"));
    expect(button().disabled).toBe(true);
    document.body.replaceChildren();
    show({ tools: [], left_out: [] }, null, () => Promise.reject(new Error("never")));
    expect(document.body.textContent).toContain("once it runs");
  });
});
