/** How the facts of the ledger are drawn. */
import type { LedgerIcon } from "../../bindings/LedgerIcon";
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
