/** How far a call is. */
import type { CallState } from "../bindings/CallState";

/** Whether it may still change. */
export function isOpen(state: CallState["kind"]): boolean {
  switch (state) {
    case "writing":
    case "running":
    case "awaiting_approval":
      return true;
    case "done":
    case "tool_error":
    case "failed":
    case "refused":
    case "cancelled":
    case "interrupted":
      return false;
  }
}
