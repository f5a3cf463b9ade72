// Every message from the window to Rust passes here, in a frame of its own, before it is encrypted for Rust. Only the two commands
// that exist, and the fetch of a large event that Tauri makes itself, go through. A View may post to this frame;
// Tauri's script in it hears the page's origin alone, and answers nobody else.
const allowed = new Set(["rpc", "subscribe", "plugin:__TAURI_CHANNEL__|fetch"]);

window.__TAURI_ISOLATION_HOOK__ = (message) => {
  if (!allowed.has(message.cmd)) {
    throw new Error("This command does not exist.");
  }
  return message;
};
