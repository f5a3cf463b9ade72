// Every message from the window to Rust passes here, in a frame of its own, before it is encrypted for Rust. Only the two commands
// that exist, and the fetch of a large event that Tauri makes itself, go through. A View has no way in: it cannot reach this frame.
const allowed = new Set(["rpc", "subscribe", "plugin:__TAURI_CHANNEL__|fetch"]);

window.__TAURI_ISOLATION_HOOK__ = (message) => {
  if (!allowed.has(message.cmd)) {
    throw new Error("This command does not exist.");
  }
  return message;
};
