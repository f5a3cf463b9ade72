// Runs first in every frame of the window. It takes away the ways to the network that go past the proxy, which nothing in this window
// needs: WebRTC, and WebTransport. It does so in every frame, for one that a View makes itself (empty, `srcdoc`, without an origin) has
// fresh ones. Workers have no WebRTC, and their WebTransport is bound by the policy's `connect-src`. In Views it also tells the page
// what an author wants to know: which requests the policy stopped, which errors nobody caught, and on the bench what the console was
// told. The View can say the same, and the page believes none of it.
(() => {
  "use strict";
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "RTCIceTransport", "RTCDtlsTransport", "WebTransport"]) {
    if (name in self) Object.defineProperty(self, name, { value: undefined, writable: false, configurable: false });
  }
  const isView =
    location.protocol === "mcpview:" || (location.protocol === "http:" && /^mcpview\.[0-9a-f]{32}\.view\.localhost$/.test(location.hostname));
  if (!isView || parent === self) return;

  // How much is told. The page hears 120 messages a second of a View, and these are among them: a View that logs in a loop still has
  // most of them for itself. Errors have a share of their own, which a loud console does not take.
  const MOST_BLOCKED = 100;
  const ERRORS_AT_ONCE = 20;
  const ERRORS_PER_SECOND = 2;
  const LINES_AT_ONCE = 60;
  const LINES_PER_SECOND = 20;
  const LONGEST_TEXT = 2000;
  const LONGEST_FILE = 500;
  const STACK_LINES = 6;
  const MOST_VALUES = 100;
  const DEEPEST = 3;

  // What counts and sends is kept from before the View could replace it. What it replaces of the rest spoils its own lines.
  const page = parent;
  const view = self;
  const { apply, getOwnPropertyDescriptor } = Reflect;
  const { stringify } = JSON;
  const time = performance;
  const { now } = time;
  const origin = `${location.protocol}//${location.host}`;

  let blocked = MOST_BLOCKED;
  view.addEventListener(
    "securitypolicyviolation",
    (event) => {
      if (blocked === 0) return;
      blocked -= 1;
      page.postMessage({ usher: "blocked", directive: String(event.effectiveDirective).slice(0, 40), uri: String(event.blockedURI).slice(0, 500) }, "*");
    },
    true,
  );

  const share = (atOnce, perSecond) => {
    let left = atOnce;
    let last = apply(now, time, []);
    const hasRoom = () => {
      const at = apply(now, time, []);
      left = Math.min(atOnce, left + ((at - last) / 1000) * perSecond);
      last = at;
      if (left < 1) return false;
      left -= 1;
      return true;
    };
    return { hasRoom, saidMore: false };
  };
  const errors = share(ERRORS_AT_ONCE, ERRORS_PER_SECOND);
  const lines = share(LINES_AT_ONCE, LINES_PER_SECOND);
  let telling = false;

  const send = (kind, text, file, line, column) => {
    const number = (value) => (Number.isSafeInteger(value) && value > 0 ? value : 0);
    const place = String(file ?? "").slice(0, LONGEST_FILE);
    page.postMessage({ usher: "says", kind, text: String(text).slice(0, LONGEST_TEXT), file: place, line: number(line), column: number(column) }, "*");
  };

  // `words` reads what belongs to the View and may run its code: whatever that does, the View goes on as if nobody had listened.
  const tell = (kind, words, share) => {
    if (telling) return;
    telling = true;
    try {
      if (share.hasRoom()) send(kind, ...words());
      else if (!share.saidMore) {
        share.saidMore = true;
        send("more", "");
      }
    } catch {
      try {
        send(kind, "(it cannot be read)");
      } catch {
        // Then nobody hears of it.
      }
    } finally {
      telling = false;
    }
  };

  const ofError = (error) => {
    const head = `${error.name}: ${error.message}`.slice(0, LONGEST_TEXT);
    const stack = String(error.stack ?? "").slice(0, 4 * LONGEST_TEXT);
    // Some engines begin the stack with the words, others do not.
    const trace = stack.startsWith(head) ? stack.slice(head.length) : stack;
    const steps = trace.split("\n").filter((it) => it.trim() !== "");
    return [head, ...steps.slice(0, STACK_LINES).map((it) => `  ${it.trim().replaceAll(origin, "")}`)].join("\n");
  };

  // A value as text, much as JSON has it. Only so many values are looked at, and what a getter would give is not asked for.
  // The first names of an object, of which it may have millions.
  const keysOf = (value) => {
    const keys = [];
    let looks = 0;
    for (const key in value) {
      if ((looks += 1) > MOST_VALUES + 1) break;
      if (getOwnPropertyDescriptor(value, key) !== undefined) keys.push(key);
    }
    return keys;
  };

  const ofValue = (value, depth, room) => {
    if (typeof value === "string") return depth === 0 ? value : stringify(value.slice(0, LONGEST_TEXT));
    if (typeof value === "function") return `function ${String(value.name).slice(0, 100)}`;
    if (typeof value !== "object" || value === null) return String(value);
    if (value instanceof Error) return ofError(value);
    const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
    const keys = isList ? undefined : keysOf(value);
    if (!isList && keys.length === 0 && Object.getPrototypeOf(value) !== Object.prototype) return String(value);
    if (depth === DEEPEST) return "…";
    const parts = [];
    const count = isList ? value.length : keys.length;
    for (let i = 0; i < count; i += 1) {
      if ((room.left -= 1) < 0) {
        parts.push("…");
        break;
      }
      const key = isList ? String(i) : keys[i];
      const it = getOwnPropertyDescriptor(value, key);
      const text = it !== undefined && "value" in it ? ofValue(it.value, depth + 1, room) : it === undefined ? "null" : "…";
      parts.push(isList ? text : `${stringify(key.slice(0, 200))}:${text}`);
    }
    return isList ? `[${parts.join(",")}]` : `{${parts.join(",")}}`;
  };
  const ofAll = (values) => {
    const room = { left: MOST_VALUES };
    return values.slice(0, MOST_VALUES).map((it) => ofValue(it, 0, room)).join(" ");
  };

  view.addEventListener(
    "error",
    (event) => {
      // What a library sends to itself under this name is no error. Of rejections WebKit does not say whose they are.
      if (!event.isTrusted) return;
      const { target } = event;
      const failed = target !== view && target?.nodeType === 1;
      const words = () => {
        if (failed) return [`<${target.localName}> ${target.currentSrc || target.src || target.href?.baseVal || target.href || ""}`];
        const file = String(event.filename ?? "").replace(origin, "");
        return [event.error instanceof Error ? ofError(event.error) : event.message, file, event.lineno, event.colno];
      };
      tell(failed ? "unloaded" : "uncaught", words, errors);
    },
    true,
  );
  view.addEventListener("unhandledrejection", (event) => tell("rejected", () => [ofAll([event.reason])], errors));

  // The page names the frame so where somebody reads the console.
  if (view.name !== "usher:console") return;
  for (const kind of ["debug", "log", "info", "warn", "error"]) {
    const original = view.console[kind];
    view.console[kind] = (...values) => {
      tell(kind, () => [ofAll(values)], lines);
      return apply(original, view.console, values);
    };
  }
})();
