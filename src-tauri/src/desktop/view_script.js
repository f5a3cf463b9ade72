// Runs first in every frame of the window. It takes away the ways to the network that go past the proxy, which nothing in this window
// needs: WebRTC, and WebTransport. It does so in every frame, for one that a View makes itself (empty, `srcdoc`, without an origin) has
// fresh ones. Workers have no WebRTC, and their WebTransport is bound by the policy's `connect-src`. In Views it also tells the page
// which requests the policy stopped, so that an author sees the declaration that would allow them; the View can say the same, and the
// page believes neither.
(() => {
  "use strict";
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "RTCIceTransport", "RTCDtlsTransport", "WebTransport"]) {
    if (name in self) Object.defineProperty(self, name, { value: undefined, writable: false, configurable: false });
  }
  const isView =
    location.protocol === "mcpview:" || (location.protocol === "http:" && /^mcpview\.[0-9a-f]{32}\.view\.localhost$/.test(location.hostname));
  if (!isView || parent === self) return;
  const page = parent;
  let left = 100;
  self.addEventListener(
    "securitypolicyviolation",
    (event) => {
      if (left === 0) return;
      left -= 1;
      page.postMessage({ usher: "blocked", directive: String(event.effectiveDirective).slice(0, 40), uri: String(event.blockedURI).slice(0, 500) }, "*");
    },
    true,
  );
})();
