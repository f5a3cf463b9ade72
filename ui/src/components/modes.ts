import type { ModeName } from "../bindings/ModeName";

/** The six modes in the order of the menu, each with what it means in one line. */
export const MODES: readonly { value: ModeName; label: string; detail: string }[] = [
  { value: "chat", label: "Chat", detail: "The model reads short text; you see tables, pictures and Views." },
  { value: "data", label: "Data", detail: "The model reads structured data instead of text, where a tool has it." },
  { value: "code", label: "Code", detail: "The model writes a script; only what the script returns reaches it." },
  { value: "present", label: "Present", detail: "Only you see results; the model is told that you do." },
  { value: "app", label: "App", detail: "The model reads text and the tool's View gets its data." },
  { value: "custom", label: "Custom", detail: "You choose, tool by tool, what is asked for." },
];

/** What a mode is called, the same everywhere. */
export function modeLabel(mode: ModeName): string {
  return MODES.find((one) => one.value === mode)?.label ?? mode;
}
