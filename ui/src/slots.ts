import type { Component } from "svelte";
import type { ToolCallView } from "./bindings/ToolCallView";

/** What a feature that draws a part of a tool call is given. */
export interface CallSlotProps {
  conversationId: string;
  call: ToolCallView;
}

/**
 * The parts that other features lend to the transcript and to the inspector. Features never
 * import each other; `App.svelte` is the one place that puts them together.
 */
export interface Slots {
  /** Draws `call.shown` in the card. */
  ShownOutputs: Component<CallSlotProps>;
  /** Draws the View of a call; its frame stays where it was first put. */
  ViewFrame: Component<CallSlotProps>;
}
