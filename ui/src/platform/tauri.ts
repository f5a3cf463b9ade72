import { Channel, invoke, isTauri } from "@tauri-apps/api/core";
import type { Snapshot } from "../bindings/Snapshot";
import type { UiBatch } from "../bindings/UiBatch";
import { toApiError, type AnswerOf, type CommandName, type PayloadOf, type Platform } from "./types";

/** Whether the page runs in the desktop's own window. */
export function insideDesktop(): boolean {
  return isTauri();
}

/**
 * The desktop. Answers come as JSON text, so that they cross the bridge as one string;
 * no value in the contract is a number that a double could not hold.
 */
export function tauriPlatform(): Platform {
  return {
    async rpc<K extends CommandName>(cmd: K, payload: PayloadOf<K>): Promise<AnswerOf<K>> {
      try {
        const text = await invoke<string>("rpc", { request: { cmd, payload } });
        return JSON.parse(text) as AnswerOf<K>;
      } catch (thrown) {
        throw toApiError(thrown);
      }
    },
    async subscribe(since: number | null, onBatch: (batch: UiBatch) => void): Promise<Snapshot> {
      const channel = new Channel<UiBatch>();
      channel.onmessage = onBatch;
      try {
        return await invoke<Snapshot>("subscribe", { since, channel });
      } catch (thrown) {
        throw toApiError(thrown);
      }
    },
  };
}
