import { describe, expect, it } from "vitest";
import type { WishStateView } from "../../bindings/WishStateView";
import { BlockedList, readBlocked, remedy, type Blocked } from "./blocked";

const of = (directive: string, where: string): Blocked => ({ directive, where, times: 1 });

describe("what a View's policy stopped", () => {
  it("is read in one form alone", () => {
    expect(readBlocked({ usher: "blocked", directive: "connect-src", uri: "https://a.example/x" })).toEqual({ directive: "connect-src", uri: "https://a.example/x" });
    for (const other of [
      null,
      "blocked",
      [],
      {},
      { usher: "blocked" },
      { usher: "blocked", directive: "connect-src", uri: 1 },
      { usher: "blocked", directive: "<b>", uri: "" },
      { usher: "blocked", directive: "connect-src", uri: "x".repeat(501) },
      { jsonrpc: "2.0", method: "ping", id: 1 },
    ]) expect(readBlocked(other)).toBeNull();
  });

  it("is counted by origin, and bounded", () => {
    let all: readonly Blocked[] = [];
    const list = new BlockedList((now) => (all = now));
    list.add("connect-src", "https://a.example/x?secret=1");
    list.add("connect-src", "https://a.example/y");
    list.add("img-src", "https://a.example/y");
    list.add("script-src-elem", "inline");
    expect(all).toEqual([
      { directive: "connect-src", where: "https://a.example", times: 2 },
      { directive: "img-src", where: "https://a.example", times: 1 },
      { directive: "script-src-elem", where: "inline", times: 1 },
    ]);
    for (let n = 0; n < 200; n += 1) list.add("img-src", `https://h${n}.example`);
    expect(all.length).toBe(50);
    expect(list.add("connect-src", "https://a.example")).toEqual(all[0]);
    expect(all[0]?.times).toBe(3);
    expect(list.add("img-src", "https://one-more.example")).toBeNull();
  });

  it("names the declaration that would allow it, and none where there is none", () => {
    const none: WishStateView[] = [];
    expect(remedy(of("connect-src", "https://a.example:8443"), none)).toBe('_meta.ui.csp.connectDomains: ["https://a.example:8443"]');
    expect(remedy(of("connect-src", "wss://a.example"), none)).toBe('_meta.ui.csp.connectDomains: ["wss://a.example"]');
    expect(remedy(of("script-src-elem", "https://a.example"), none)).toBe('_meta.ui.csp.resourceDomains: ["https://a.example"]');
    expect(remedy(of("style-src-attr", "https://a.example"), none)).toBe('_meta.ui.csp.resourceDomains: ["https://a.example"]');
    expect(remedy(of("frame-src", "https://a.example"), none)).toBe('_meta.ui.csp.frameDomains: ["https://a.example"]');
    expect(remedy(of("base-uri", "https://a.example"), none)).toBe('_meta.ui.csp.baseUriDomains: ["https://a.example"]');
    expect(remedy(of("connect-src", "http://a.example"), none)).toContain("Only https");
    expect(remedy(of("img-src", "wss://a.example"), none)).toContain("Only https");
    for (const host of ["localhost:3000", "a.localhost", "127.0.0.1", "10.1.2.3", "192.168.0.1", "172.20.0.1", "[::1]", "printer", "nas.local", "router.home.arpa"]) {
      expect(remedy(of("connect-src", `https://${host}`), none), host).toContain("never allowed");
    }
    for (const host of ["10.example.com", "localhost.example.com", "172.32.0.1", "8.8.8.8"]) expect(remedy(of("connect-src", `https://${host}`), none), host).toContain("connectDomains");
    expect(remedy(of("script-src", "inline"), none)).toContain("not an address");
    expect(remedy(of("form-action", "https://a.example"), none)).toBe("No declaration allows it.");
    expect(remedy(of("worker-src", "https://a.example"), none)).toBe("No declaration allows it.");
  });

  it("is the user's to allow where the server declares it", () => {
    const wishes: WishStateView[] = [
      { wish: { kind: "connect", what: "https://api.example" }, state: "refused" },
      { wish: { kind: "resource", what: "https://*.cdn.example" }, state: "open" },
    ];
    expect(remedy(of("connect-src", "https://api.example"), wishes)).toContain("you have not allowed it");
    expect(remedy(of("img-src", "https://a.cdn.example"), wishes)).toContain("you have not allowed it");
    expect(remedy(of("img-src", "https://api.example"), wishes)).toContain("resourceDomains");
    expect(remedy(of("img-src", "https://cdn.example"), wishes)).toContain("resourceDomains");
  });
});
