import type { CheckReport } from "../../bindings/CheckReport";
import type { FindingLevel } from "../../bindings/FindingLevel";
import type { ProviderView } from "../../bindings/ProviderView";
import { plural } from "../../components/format";
import type { IconName } from "../../components/icons";

/** How a finding's weight is shown: an icon and a word, and a colour only beside them. */
export function levelLook(level: FindingLevel): { word: string; icon: IconName; tone: "bad" | "warn" } {
  return level === "broken" ? { word: "broken", icon: "blocked", tone: "bad" } : { word: "advice", icon: "info", tone: "warn" };
}

/** A report in a sentence. */
export function summary(report: CheckReport): string {
  const parts = [`${report.broken} broken`, `${report.advice} recommended`, `${plural(report.skipped, "tool")} not called`];
  return parts.join(", ");
}

/** What a provider makes of a schema, by weight: the worst first. */
export function providerLines(provider: ProviderView): { icon: IconName; tone: "bad" | "warn" | "plain"; word: string; text: string }[] {
  const of = (fate: string): string =>
    provider.keywords.filter((it) => it.fate === fate).map((it) => it.keyword).join(", ");
  const lines: ReturnType<typeof providerLines> = [];
  if (provider.refusal !== null) lines.push({ icon: "blocked", tone: "bad", word: "cannot be offered", text: provider.refusal });
  const kinds = [
    ["refused", "blocked", "bad", "refuses"],
    ["dropped", "warning", "warn", "drops"],
    ["hint", "info", "plain", "does not enforce"],
  ] as const;
  for (const [fate, icon, tone, word] of kinds) {
    const text = of(fate);
    if (text !== "") lines.push({ icon, tone, word, text });
  }
  for (const text of provider.rewrites) lines.push({ icon: "edit", tone: "plain", word: "is sent rewritten", text });
  if (lines.length === 0) lines.push({ icon: "check", tone: "plain", word: "takes it as it is", text: "" });
  return lines;
}
