/** What a key does in the window, wherever the focus is. */
export type WindowAct =
  | { kind: "new" }
  | { kind: "search" }
  | { kind: "settings" }
  | { kind: "question" }
  | { kind: "tab"; index: number }
  | { kind: "pane"; back: boolean };

/** Reads a key; `null` leaves it to whatever has the focus. */
export function windowKey(
  event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">,
): WindowAct | null {
  if (event.key === "F6") return { kind: "pane", back: event.shiftKey };
  if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return null;
  switch (event.key.toLowerCase()) {
    case "n":
      return { kind: "new" };
    case "k":
      return { kind: "search" };
    case "j":
      return { kind: "question" };
    case ",":
      return { kind: "settings" };
    case "1":
    case "2":
    case "3":
    case "4":
    case "5":
    case "6":
      return { kind: "tab", index: Number(event.key) - 1 };
    default:
      return null;
  }
}
