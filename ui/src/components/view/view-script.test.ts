import { describe, expect, it } from "vitest";
import SCRIPT from "../../../../src-tauri/src/desktop/view_script.js?raw";

const VIEW = { protocol: "mcpview:", hostname: "abc.localhost" };

/** A frame as an engine with WebRTC makes one, with the script run first in it. */
function realm(location: { protocol: string; hostname: string }, isTop = false) {
  const heard: unknown[] = [];
  const listeners: ((event: object) => void)[] = [];
  const self: Record<string, unknown> = {
    RTCPeerConnection: class {},
    webkitRTCPeerConnection: class {},
    RTCDataChannel: class {},
    WebTransport: class {},
    Worker: class {},
    addEventListener: (_: string, listener: (event: object) => void) => listeners.push(listener),
  };
  const parent = isTop ? self : { postMessage: (message: unknown) => heard.push(message) };
  new Function("self", "parent", "location", SCRIPT)(self, parent, location);
  return { self, heard, block: () => listeners.forEach((one) => one({ effectiveDirective: "connect-src", blockedURI: "https://a.example" })) };
}

describe("the script that runs first in every frame", () => {
  it.each([
    ["a View", VIEW],
    ["an empty frame that a View made", { protocol: "about:", hostname: "" }],
    ["a frame of a text or of a blob", { protocol: "blob:", hostname: "" }],
    ["a page that a View was granted", { protocol: "https:", hostname: "maps.example.com" }],
    ["the page itself", { protocol: "tauri:", hostname: "localhost" }],
  ])("leaves no way past the proxy in %s, also not by writing it back", (_, location) => {
    const { self } = realm(location);
    for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "WebTransport"]) {
      expect(self[name], name).toBeUndefined();
      expect(Reflect.set(self, name, class {}), name).toBe(false);
      expect(Reflect.deleteProperty(self, name), name).toBe(false);
    }
    expect(self["Worker"]).toBeDefined();
  });

  it("says in Views alone what the policy stopped, a hundred times at most", () => {
    const view = realm(VIEW);
    for (let count = 0; count < 150; count += 1) view.block();
    expect(view.heard).toHaveLength(100);
    expect(view.heard[0]).toEqual({ usher: "blocked", directive: "connect-src", uri: "https://a.example" });
    for (const other of [realm({ protocol: "https:", hostname: "maps.example.com" }), realm({ protocol: "about:", hostname: "" }), realm(VIEW, true)]) {
      other.block();
      expect(other.heard).toEqual([]);
    }
  });
});
