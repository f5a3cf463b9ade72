// Generated from src-tauri/crates/protocol/src/revision.rs. Do not edit.

/** The revisions of the protocol that Usher speaks, newest first. */
export const REVISIONS: readonly string[] = ["2026-12-01", "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"];
