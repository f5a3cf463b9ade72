/** What the bar of the context window says about an exchange. */
import type { ExchangeView } from "../../bindings/ExchangeView";
import type { SourceKind } from "../../bindings/SourceKind";

/** The order in which sources are named. */
export const SOURCES: readonly SourceKind[] = ["host", "tools", "messages", "results", "envelope"];

/** What a source is called where no better label came. */
export const SOURCE_LABEL: Record<SourceKind, string> = {
  host: "system",
  tools: "tools",
  messages: "messages",
  results: "results",
  envelope: "format",
};

/** A part of the bar. */
export interface BarPart {
  source: SourceKind;
  label: string;
  bytes: number;
  /** Of the whole bar, in percent. */
  percent: number;
}

/** The bar: its parts, and how long what was kept out would be on the same scale. */
export interface ContextBarModel {
  parts: BarPart[];
  /** In percent of the whole bar; may be more than fits. */
  keptOutPercent: number;
  /** Whether the bar's length is the model's context size; otherwise it is the request itself. */
  ofContext: boolean;
}

/** Lays the bar out. */
export function contextBar(exchange: ExchangeView): ContextBarModel {
  const ofContext = exchange.context_tokens !== null && exchange.context_tokens > 0;
  const filled = ofContext ? Math.min(1, exchange.tokens / (exchange.context_tokens ?? 1)) : 1;
  const total = exchange.share.reduce((sum, part) => sum + part.bytes, 0);
  const percent = (bytes: number): number => (total === 0 ? 0 : (bytes / total) * filled * 100);
  const parts = SOURCES.flatMap((source) => {
    const of = exchange.share.filter((part) => part.source === source);
    const bytes = of.reduce((sum, part) => sum + part.bytes, 0);
    if (bytes === 0) return [];
    const label = of.length === 1 && of[0] !== undefined && of[0].label !== "" ? of[0].label : SOURCE_LABEL[source];
    return [{ source, label, bytes, percent: percent(bytes) }];
  });
  return { parts, keptOutPercent: percent(exchange.kept_out_bytes), ofContext };
}
