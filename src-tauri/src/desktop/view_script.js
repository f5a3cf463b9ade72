// Runs first in every frame of the window, and acts in Views alone: it takes away a way to the network that no policy covers, and
// tells the page which requests the policy stopped, so that an author sees the declaration that would allow them. It protects nobody
// from the View: the View can say the same, and the page believes neither.
(() => {
  "use strict";
  const isView =
    location.protocol === "mcpview:" || (location.protocol === "http:" && /^mcpview\.[0-9a-f]{32}\.view\.localhost$/.test(location.hostname));
  if (!isView || parent === self) return;
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "RTCIceTransport", "RTCDtlsTransport", "WebTransport"]) {
    if (name in self) Object.defineProperty(self, name, { value: undefined, writable: false, configurable: false });
  }
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
