import { describe, expect, it } from "vitest";
import type { AudienceChip } from "../../bindings/AudienceChip";
import type { ToolCallView } from "../../bindings/ToolCallView";
import { bandHeight, chipLabel, layoutFlow } from "./flow";

const chip = (audience: string, format: string, color: AudienceChip["color"]): AudienceChip => ({ audience, format, color });
const ASSISTANT = chip("assistant", "content", "assistant");
const USER = chip("user", "structured", "user");

function call(change: Partial<ToolCallView> = {}): ToolCallView {
  return {
    call_id: "c1",
    number: 7,
    server_id: "s",
    server_name: "Sample",
    tool: "search_customers",
    of_view: null,
    title: null,
    arguments_json: "{}",
    origin: "model",
    state: { kind: "done" },
    mode: "chat",
    revision: "2026-12-01",
    requested: [ASSISTANT, USER],
    deliveries: [
      { consumer: "model", chip: ASSISTANT, what: "assistant/content", bytes: 214, handle: "h1", door: "contract", verdict: null, how: "as one text block" },
      { consumer: "user", chip: USER, what: "user/structured", bytes: 6100, handle: "h2", door: "contract", verdict: { kind: "fits" }, how: "as a table, 37 rows" },
    ],
    withheld: [
      {
        chip: chip("programmatic", "structured", "programmatic"),
        what: "programmatic/structured",
        bytes: 2200,
        rule: "H19",
        why: "it was not asked for",
        handle: "h3",
      },
    ],
    defects: [],
    shown: [],
    view: null,
    elapsed_ms: 84,
    ...change,
  };
}

describe("bandHeight", () => {
  it("grows with each factor of ten, within bounds", () => {
    expect([0, 1, 100, 214, 2200, 6100, 1_000_000, 5e9].map(bandHeight)).toEqual([9, 9, 9, 14, 28, 34, 56, 56]);
  });
});

describe("layoutFlow", () => {
  it("gives every output a band in and every delivery a band on, each with its bytes", () => {
    const flow = layoutFlow(call(), 384);
    expect(flow.bands.map((band) => [band.id, band.handle, band.color, band.broken])).toEqual([
      ["in assistant/content", "h1", "assistant", false],
      ["in user/structured", "h2", "user", false],
      ["in withheld 0", "h3", "withheld", true],
      ["assistant/content to model h1", "h1", "assistant", false],
      ["user/structured to user h2", "h2", "user", false],
    ]);
  });

  it("puts the rule's number on what was withheld", () => {
    const flow = layoutFlow(call(), 384);
    expect(flow.labels.filter((label) => label.tone === "bad").map((label) => label.text)).toEqual(["withheld, H19"]);
    expect(flow.stops).toHaveLength(1);
  });

  it("says in words what the picture shows", () => {
    expect(layoutFlow(call(), 384).sentences).toEqual([
      "programmatic / structured, 2.2 kB, was withheld, H19 and reached nobody: it was not asked for",
      "assistant / content, 214 B, went to model as one text block (contract)",
      "user / structured, 6.1 kB, went to you as a table, 37 rows (contract)",
    ]);
  });

  it("keeps boxes apart and inside the picture", () => {
    const many = call({
      deliveries: (["model", "user", "script", "view"] as const).flatMap((consumer) =>
        [1, 10_000_000].map((bytes) => ({
          consumer,
          chip: chip(`${consumer}-${bytes}`, "structured", "other"),
          what: consumer,
          bytes,
          handle: `${consumer}${bytes}`,
          door: "contract",
          verdict: null,
          how: "",
        })),
      ),
    });
    const flow = layoutFlow(many, 384);
    for (const x of new Set(flow.nodes.map((node) => node.x))) {
      const column = flow.nodes.filter((node) => node.x === x).sort((a, b) => a.y - b.y);
      column.forEach((node, index) => {
        const next = column[index + 1];
        if (next !== undefined) expect(node.y + node.height).toBeLessThanOrEqual(next.y);
        expect(node.y + node.height).toBeLessThanOrEqual(flow.height);
      });
    }
  });

  it("stays a picture when a server floods", () => {
    const withheld = call().withheld[0];
    const flood = call({ withheld: Array.from({ length: 5000 }, () => withheld).filter((one) => one !== undefined) });
    const flow = layoutFlow(flood, 384);
    expect(flow.nodes.length).toBeLessThan(40);
    expect(flow.sentences.at(-1)).toBe("and 4978 more outputs, not drawn");
  });

  it("shows what was asked for and did not come", () => {
    const flow = layoutFlow(call({ deliveries: [], withheld: [] }), 384);
    expect(flow.nodes.filter((node) => node.hollow)).toHaveLength(2);
    expect(flow.sentences).toContain("user / structured was asked for, did not come");
    const running = layoutFlow(call({ deliveries: [], withheld: [], state: { kind: "running", progress: null } }), 384);
    expect(running.sentences).toContain("user / structured was asked for, not here yet");
  });

  it("draws one result that local policy gave to two consumers as two ways", () => {
    const legacy = call({
      requested: [],
      withheld: [],
      deliveries: (["model", "user"] as const).map((consumer) => ({
        consumer,
        chip: null,
        what: "content",
        bytes: 900,
        handle: `${consumer} bytes`,
        door: "policy: content first",
        verdict: null,
        how: "as text",
      })),
    });
    expect(layoutFlow(legacy, 384).bands.map((band) => band.handle)).toEqual(["model bytes", "user bytes", "model bytes", "user bytes"]);
    expect(layoutFlow(legacy, 384).labels.filter((label) => label.text === "content")).toHaveLength(2);
  });

  it("names what goes with an output by where it stood", () => {
    const [first] = call().deliveries;
    const meta = { ...first!, consumer: "view" as const, chip: null, what: "_meta io.modelcontextprotocol/ui" };
    const flow = layoutFlow(call({ deliveries: [meta] }), 384);
    expect(flow.labels.map((label) => label.text)).toContain("_meta");
  });
});

describe("chipLabel", () => {
  it("shortens the View's long identifier only", () => {
    expect(chipLabel(chip("io.modelcontextprotocol/ui", "structured", "view"))).toBe("view / structured");
    expect(chipLabel(chip("com.example/x", "structured", "other"))).toBe("com.example/x / structured");
  });
});
