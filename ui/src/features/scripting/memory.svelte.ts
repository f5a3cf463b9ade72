/**
 * What the pane keeps of each conversation while one looks at another tab: the text and the last run.
 * Deliberately absent: the disk. A script that shall last is saved by its author.
 */
export class ScriptMemory {
  /** The text; null until an example was put there or something was written. */
  source = $state<string | null>(null);
  /** The last run. */
  runId = $state<string | null>(null);
  /** Lines of the output that were cleared away. */
  cleared = $state(0);
  /** Whether the declarations are shown. */
  showTypes = $state(false);
}

const memories = new Map<string, ScriptMemory>();

/** The memory of a conversation. */
export function scriptMemory(conversationId: string): ScriptMemory {
  const there = memories.get(conversationId);
  if (there !== undefined) return there;
  const memory = new ScriptMemory();
  memories.set(conversationId, memory);
  return memory;
}
