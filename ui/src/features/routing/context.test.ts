import { describe, expect, it } from "vitest";
import type { ExchangeView } from "../../bindings/ExchangeView";
import { contextBar } from "./context";

function exchange(change: Partial<ExchangeView>): ExchangeView {
  return {
    id: "x",
    at_ms: 0,
    model: "m",
    url: "http://127.0.0.1/v1/chat/completions",
    bytes: 1000,
    sha256: "",
    attempts: 1,
    outcome: "200",
    tokens: 250,
    context_tokens: 1000,
    share: [
      { source: "envelope", label: "", bytes: 100 },
      { source: "results", label: "call 1", bytes: 200 },
      { source: "results", label: "call 2", bytes: 200 },
      { source: "tools", label: "11 tools", bytes: 500 },
    ],
    kept_out_bytes: 4000,
    asked_by: null,
    ...change,
  };
}

describe("contextBar", () => {
  it("fills the part of the context that the request takes, by source", () => {
    expect(contextBar(exchange({}))).toEqual({
      ofContext: true,
      keptOutPercent: 100,
      parts: [
        { source: "tools", label: "11 tools", bytes: 500, percent: 12.5 },
        { source: "results", label: "results", bytes: 400, percent: 10 },
        { source: "envelope", label: "format", bytes: 100, percent: 2.5 },
      ],
    });
  });

  it("is the request itself where the context size is not known", () => {
    const bar = contextBar(exchange({ context_tokens: null }));
    expect(bar.ofContext).toBe(false);
    expect(bar.parts.reduce((sum, part) => sum + part.percent, 0)).toBeCloseTo(100);
  });

  it("never grows past its end, and stands empty without a share", () => {
    const full = contextBar(exchange({ tokens: 5000 }));
    expect(full.parts.reduce((sum, part) => sum + part.percent, 0)).toBeCloseTo(100);
    expect(contextBar(exchange({ share: [] })).parts).toEqual([]);
  });
});
