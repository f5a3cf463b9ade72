/** Prompts as slash commands: when the list is open, what it holds, and what a key does in it. */
import type { PromptView } from "../../bindings/PromptView";

/** What was typed after the slash; `null` when the message does not begin with one, or is a message already. */
export function slashWord(draft: string): string | null {
  const found = /^\/(\S*)$/.exec(draft);
  return found === null ? null : (found[1] ?? "");
}

/** The prompts that match what was typed: by name or title, and by the server's name. */
export function matching(prompts: readonly PromptView[], word: string): readonly PromptView[] {
  const wanted = word.toLowerCase();
  const starts = (prompt: PromptView) => prompt.name.toLowerCase().startsWith(wanted);
  const holds = ({ name, title, server_name }: PromptView) =>
    [name, title ?? "", server_name].some((text) => text.toLowerCase().includes(wanted));
  const found = prompts.filter(holds);
  // What begins so comes first; the rest keeps its order.
  return [...found.filter(starts), ...found.filter((prompt) => !starts(prompt))];
}

/** What a key does while the list is open; `null` leaves it to the field. */
export function listKey(
  event: Pick<KeyboardEvent, "key" | "shiftKey" | "altKey" | "ctrlKey" | "isComposing" | "keyCode">,
): "down" | "up" | "first" | "last" | "take" | "close" | null {
  if (event.isComposing || event.keyCode === 229 || event.altKey || event.shiftKey) return null;
  switch (event.key) {
    case "ArrowDown":
      return "down";
    case "ArrowUp":
      return "up";
    case "Home":
      return event.ctrlKey ? "first" : null;
    case "End":
      return event.ctrlKey ? "last" : null;
    case "Enter":
    case "Tab":
      return "take";
    case "Escape":
      return "close";
    default:
      return null;
  }
}

/** What a prompt is still to be told. */
export function missing(prompt: PromptView, values: Readonly<Record<string, string>>): readonly string[] {
  return prompt.arguments.filter((one) => one.required && (values[one.name] ?? "").trim() === "").map((one) => one.name);
}

/** The arguments that were filled in, in the order of the prompt. */
export function filled(prompt: PromptView, values: Readonly<Record<string, string>>): [string, string][] {
  return prompt.arguments.flatMap((one): [string, string][] => {
    const value = values[one.name] ?? "";
    return value === "" ? [] : [[one.name, value]];
  });
}
