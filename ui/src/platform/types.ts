import type { ApiError } from "../bindings/ApiError";
import type { Commands } from "../bindings/Commands";
import type { Snapshot } from "../bindings/Snapshot";
import type { UiBatch } from "../bindings/UiBatch";

export type CommandName = keyof Commands;
export type PayloadOf<K extends CommandName> = Commands[K]["payload"];
export type AnswerOf<K extends CommandName> = Commands[K]["answer"];

/**
 * The window's only door to the host. Two implementations: `tauri` in the desktop,
 * `fake` in a browser and in tests. Nothing else in the window knows which it is.
 */
export interface Platform {
  /** Asks the host. Rejects with an `ApiError`, never with anything else. */
  rpc<K extends CommandName>(cmd: K, payload: PayloadOf<K>): Promise<AnswerOf<K>>;
  /**
   * Starts the one stream of events and answers with what they build on.
   * A second call replaces the first stream. Batches may arrive before the answer does.
   */
  subscribe(since: number | null, onBatch: (batch: UiBatch) => void): Promise<Snapshot>;
}

/** Whether a rejected value is an error that the host has put into words. */
export function isApiError(value: unknown): value is ApiError {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as ApiError).what === "string" &&
    typeof (value as ApiError).safe === "string" &&
    typeof (value as ApiError).todo === "string"
  );
}

/** Puts whatever was thrown into the three sentences that the window shows. */
export function toApiError(value: unknown): ApiError {
  if (isApiError(value)) return value;
  const text = value instanceof Error ? value.message : String(value);
  return {
    what: `The window could not talk to its host: ${text}`,
    safe: "Everything that was shown is on disk.",
    todo: "Try again. If it happens again, restart Usher.",
  };
}
