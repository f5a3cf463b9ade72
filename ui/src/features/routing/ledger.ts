/** How the facts of the ledger are drawn. */
import type { LedgerIcon } from "../../bindings/LedgerIcon";
import type { LegacyPolicyView } from "../../bindings/LegacyPolicyView";
import type { IconName } from "../../components/icons";

/** The icon of each kind of fact. */
export const LEDGER_ICON: Record<LedgerIcon, IconName> = {
  asked: "right",
  came: "left",
  fits: "check",
  defect: "cross",
  withheld: "blocked",
  delivered: "right",
  policy: "policy",
  door: "door",
  sent: "send",
  note: "info",
};

/** Milliseconds since the first fact; the unit stands only where it changes or begins. */
export function relativeTime(ms: number, first: boolean): string {
  if (ms < 10_000) return first ? `${ms} ms` : String(ms);
  if (ms < 600_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

/** The half of an earlier revision's result that a policy gives the model first. */
export function readHalf(policy: LegacyPolicyView): string {
  return policy === "structured_first" ? "structuredContent" : "content";
}

/** The policy turned round. */
export function otherPolicy(policy: LegacyPolicyView): LegacyPolicyView {
  return policy === "structured_first" ? "content_first" : "structured_first";
}
