import type { Component } from "svelte";
import type { BlockView } from "./bindings/BlockView";
import type { ToolCallView } from "./bindings/ToolCallView";

/** What a feature that draws a part of a tool call is given. */
export interface CallSlotProps {
  conversationId: string;
  call: ToolCallView;
}

/** What draws blocks of content is given. */
export interface BlocksSlotProps {
  /** What the blocks belong to, such as a tool or a prompt. */
  what: string;
  /** Where a link in them comes from, for the question before it is opened. */
  from: string;
  handle: string;
  blocks: readonly BlockView[];
  /** Reads a resource that a link names; `false` when it did not come and that was said already. Without it there is no such button. */
  onread?: (uri: string) => Promise<boolean>;
}

/**
 * The parts that other features lend to the transcript and to the inspector. Features never
 * import each other; `App.svelte` is the one place that puts them together.
 */
export interface Slots {
  /** Draws `call.shown` in the card. */
  ShownOutputs: Component<CallSlotProps>;
  /** Draws blocks of content, whoever sent them. */
  Blocks: Component<BlocksSlotProps>;
  /** Draws the View of a call; its frame stays where it was first put. */
  ViewFrame: Component<CallSlotProps>;
}
