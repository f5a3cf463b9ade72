import type { ApprovalChoice } from "../../bindings/ApprovalChoice";
import type { AudienceChip } from "../../bindings/AudienceChip";
import type { ConsumerName } from "../../bindings/ConsumerName";
import type { DeliveryView } from "../../bindings/DeliveryView";
import type { RuleText } from "../../bindings/RuleText";
import type { ToolCallView } from "../../bindings/ToolCallView";
import type { ToolView } from "../../bindings/ToolView";
import { consumerLabel, formatBytes, formatElapsed } from "../../components/format";
import type { IconName } from "../../components/icons";

/** What a state looks like and what it is called. */
export function stateLook(call: ToolCallView): { icon: IconName; tone: string; text: string } {
  switch (call.state.kind) {
    case "writing":
      return { icon: "clock", tone: "plain", text: "being written" };
    case "awaiting_approval":
      return { icon: "shield", tone: "warn", text: "waits for you" };
    case "running":
      return { icon: "clock", tone: "plain", text: runningText(call) };
    case "done":
      return { icon: "check", tone: "plain", text: elapsed(call, "done") };
    case "tool_error":
      return { icon: "warning", tone: "warn", text: elapsed(call, "the tool reports an error") };
    case "failed":
      return { icon: "cross", tone: "bad", text: elapsed(call, "failed") };
    case "refused":
      return { icon: "blocked", tone: "plain", text: "refused by you" };
    case "cancelled":
      return { icon: "stop", tone: "plain", text: "cancelled" };
    case "interrupted":
      return { icon: "stop", tone: "warn", text: "interrupted when Usher ended" };
  }
}

/** How far a running call is, from 0 to 1; `null` when the tool does not say. */
export function progressShare(call: ToolCallView): number | null {
  if (call.state.kind !== "running") return null;
  const progress = call.state.progress;
  if (progress === null || progress.total === null || progress.total <= 0) return null;
  return Math.min(1, Math.max(0, progress.done / progress.total));
}

/** All that one consumer got of a call, as one chip. */
export interface Received {
  consumer: ConsumerName;
  /** The audience and format of its first output that has one. */
  chip: AudienceChip | null;
  /** What the chip says: `you 6.1 kB`. */
  text: string;
  /** What came, one delivery a line. */
  hint: string;
}

/** What each consumer got, in the order in which they first got something. */
export function receivedBy(deliveries: readonly DeliveryView[]): Received[] {
  const consumers = [...new Set(deliveries.map((delivery) => delivery.consumer))];
  return consumers.map((consumer) => {
    const parts = deliveries.filter((delivery) => delivery.consumer === consumer);
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    const hints = parts.map(parts.length === 1 ? deliveryHint : (part) => `${formatBytes(part.bytes)}: ${deliveryHint(part)}`);
    return {
      consumer,
      chip: parts.find((part) => part.chip !== null)?.chip ?? null,
      text: `${consumerLabel(consumer)} ${formatBytes(bytes)}`,
      hint: hints.join("\n"),
    };
  });
}

/** More about a delivery, for the pointer and for screen readers. */
export function deliveryHint(delivery: DeliveryView): string {
  const parts = [
    delivery.chip === null ? delivery.what : `${delivery.chip.audience} / ${delivery.chip.format}`,
    delivery.how,
  ];
  if (delivery.door !== "contract") parts.push(delivery.door);
  switch (delivery.verdict?.kind) {
    case "fits":
      parts.push("fits its schema");
      break;
    case "violates":
      parts.push(`does not fit its schema: ${delivery.verdict.problems[0] ?? ""}`);
      break;
    case "not_checked":
      parts.push(`not checked: ${delivery.verdict.why}`);
      break;
    case undefined:
      break;
  }
  return parts.filter((p) => p !== "").join(", ");
}

/** The defects that no withheld output already tells about. */
export function otherDefects(call: ToolCallView): RuleText[] {
  const told = new Set(call.withheld.map((w) => w.rule).filter((rule) => rule !== null));
  return call.defects.filter((d) => d.rule === null || !told.has(d.rule));
}

/** What the server, or the View, says about its own tool; nobody has checked it. */
export function serverHints(tool: Pick<ToolView, "read_only" | "destructive"> | null): string {
  if (tool === null) return "none";
  if (tool.destructive) return "it changes things and may destroy them";
  if (tool.read_only) return "it only reads";
  return "it changes things";
}

/** The answers to an approval, in the order in which they are offered. */
export const APPROVALS: readonly {
  choice: ApprovalChoice;
  label: string;
  detail: string;
  refuses: boolean;
}[] = [
  { choice: "once", label: "Allow once", detail: "This call only.", refuses: false },
  { choice: "conversation", label: "This conversation", detail: "This tool, in this conversation, without asking again.", refuses: false },
  { choice: "tool", label: "This tool", detail: "Always, until you revoke it in the settings.", refuses: false },
  { choice: "server", label: "This server", detail: "Every tool of this server, until you revoke it.", refuses: false },
  { choice: "refuse", label: "Refuse", detail: "Not this time; the model is told so.", refuses: true },
  { choice: "never", label: "Never", detail: "Refuse this tool from now on without asking.", refuses: true },
];

/** Those that a tool of a View has: nothing of it stands longer than the conversation. */
export const VIEW_APPROVALS: typeof APPROVALS = APPROVALS.filter((it) => ["once", "conversation", "refuse"].includes(it.choice));

function runningText(call: ToolCallView): string {
  const share = progressShare(call);
  if (share !== null) return `running, ${Math.round(share * 100)} %`;
  const progress = call.state.kind === "running" ? call.state.progress : null;
  // A task tells in words how it stands, and counts nothing.
  return progress === null || progress.done === 0 ? "running" : `running, ${progress.done}`;
}

function elapsed(call: ToolCallView, what: string): string {
  if (call.elapsed_ms === null) return what;
  const time = formatElapsed(call.elapsed_ms);
  return call.state.kind === "done" ? time : `${what}, ${time}`;
}
