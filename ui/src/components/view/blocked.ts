/**
 * Requests of a View that its policy stopped, as a script in its frame tells them, and the declaration that would allow
 * each. The View can tell the same itself, so what is told here is shown and never acted upon.
 * Deliberately absent: what is enforced. That is the policy, and after it the way to the network.
 */
import type { WishKindName } from "../../bindings/WishKindName";
import type { WishStateView } from "../../bindings/WishStateView";

/** Kinds of requests that are kept of one View. */
const KEPT = 50;
const LONGEST = 500;

/** What was stopped: the part of the policy, and where it wanted to go. */
export interface Blocked {
  directive: string;
  /** An origin, or a word such as `inline`. */
  where: string;
  times: number;
}

/** Reads what the script says; anything else is a message like every other. */
export function readBlocked(data: unknown): { directive: string; uri: string } | null {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return null;
  const { usher, directive, uri } = data as Record<string, unknown>;
  if (usher !== "blocked" || typeof directive !== "string" || typeof uri !== "string") return null;
  return /^[a-z-]{1,40}$/.test(directive) && uri.length <= LONGEST ? { directive, uri } : null;
}

/** What was stopped of one View, by where it wanted to go. */
export class BlockedList {
  private all: Blocked[] = [];

  constructor(private readonly changed: (all: readonly Blocked[]) => void) {}

  /** Counts one. The answer is its kind; `null` when there are too many to keep it. */
  add(directive: string, uri: string): Blocked | null {
    const where = originOf(uri) ?? uri;
    const known = this.all.find((it) => it.directive === directive && it.where === where);
    if (known === undefined && this.all.length >= KEPT) return null;
    const now = { directive, where, times: (known?.times ?? 0) + 1 };
    this.all = known === undefined ? [...this.all, now] : this.all.map((it) => (it === known ? now : it));
    this.changed(this.all);
    return now;
  }
}

const LISTS: Readonly<Record<string, { list: string; kind: WishKindName }>> = {
  "connect-src": { list: "connectDomains", kind: "connect" },
  "script-src": { list: "resourceDomains", kind: "resource" },
  "style-src": { list: "resourceDomains", kind: "resource" },
  "img-src": { list: "resourceDomains", kind: "resource" },
  "font-src": { list: "resourceDomains", kind: "resource" },
  "media-src": { list: "resourceDomains", kind: "resource" },
  "frame-src": { list: "frameDomains", kind: "frame" },
  "child-src": { list: "frameDomains", kind: "frame" },
  "base-uri": { list: "baseUriDomains", kind: "base_uri" },
};

/** What would allow it, for people: a declaration of the server, a yes of the user, or nothing. */
export function remedy(blocked: Blocked, wishes: readonly WishStateView[]): string {
  const place = LISTS[blocked.directive.replace(/-(elem|attr)$/, "")];
  if (place === undefined) return "No declaration allows it.";
  const origin = originOf(blocked.where);
  if (origin === null) return `${blocked.where} is not an address that can be declared.`;
  const scheme = origin.slice(0, origin.indexOf(":"));
  if (scheme !== "https" && !(scheme === "wss" && place.kind === "connect")) return "Only https addresses (and wss for connections) can be allowed.";
  if (isLocal(new URL(origin).hostname)) return "Addresses of this computer and its network are never allowed.";
  if (wishes.some(({ wish }) => wish.kind === place.kind && covers(wish.what, origin))) return "The server declares it; you have not allowed it, or not since the View was started.";
  return `_meta.ui.csp.${place.list}: ["${origin}"]`;
}

/** Endings of names that stay on the computer or in its network, as the host has them. It decides; here they only spare an author a try. */
const LOCAL = /^[^.]+$|^\[|(^|\.)(localhost|local|localdomain|internal|intranet|lan|home|corp|home\.arpa)$/;
const PRIVATE = /^(0|10|127|169\.254|172\.(1[6-9]|2\d|3[01])|192\.168)\.[\d.]+$/;

function isLocal(host: string): boolean {
  return LOCAL.test(host) || PRIVATE.test(host);
}

function originOf(uri: string): string | null {
  try {
    const { protocol, host } = new URL(uri);
    return host === "" ? null : `${protocol}//${host}`;
  } catch {
    return null;
  }
}

function covers(source: string, origin: string): boolean {
  const [scheme, rest] = source.split("://*.");
  return rest === undefined ? source === origin : origin.startsWith(`${scheme}://`) && origin.endsWith(`.${rest}`);
}
