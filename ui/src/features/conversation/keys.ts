/** What a key does in the composer; `null` leaves it to the field. */
export function composerKey(
  event: Pick<KeyboardEvent, "key" | "shiftKey" | "altKey" | "isComposing" | "keyCode">,
  busy: boolean,
): "send" | "stop" | null {
  // While an input method composes, Enter and Esc are its own; old engines only say 229.
  if (event.isComposing || event.keyCode === 229) return null;
  if (event.key === "Enter" && !event.shiftKey && !event.altKey) return "send";
  if (event.key === "Escape" && busy) return "stop";
  return null;
}
