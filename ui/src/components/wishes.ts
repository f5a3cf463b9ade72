/**
 * What Views wish for beyond their own pages, in words.
 */
import type { WishKindName } from "../bindings/WishKindName";
import type { WishStateName } from "../bindings/WishStateName";
import type { WishView } from "../bindings/WishView";
import { plural } from "./format";

/** What each kind of wish lets a View do; the domains or features stand below it. */
export const KINDS: readonly { kind: WishKindName; title: string }[] = [
  { kind: "connect", title: "Exchange data with" },
  { kind: "resource", title: "Load code, styles, pictures, fonts, sound and film from" },
  { kind: "frame", title: "Show pages inside itself, of" },
  { kind: "base_uri", title: "Complete addresses in its page with" },
  { kind: "permission", title: "Use of this computer" },
];

const FEATURES: Readonly<Record<string, string>> = {
  camera: "The camera",
  microphone: "The microphone",
  geolocation: "Where this computer is",
  clipboardWrite: "The clipboard, to write to it",
};

export const STATES: Readonly<Record<WishStateName, string>> = {
  granted: "allowed",
  allowed: "allowed, from its next start on",
  open: "not allowed yet",
  refused: "not allowed",
};

/** A wish in words; a domain stands as it is, for nothing of it may be left out. */
export function wishText(wish: WishView): string {
  return wish.kind === "permission" ? (FEATURES[wish.what] ?? wish.what) : wish.what;
}

/** How many domains and features wishes name, in few words. A domain that is wished for in several ways is one. */
export function counted(wishes: readonly { wish: WishView }[]): string {
  const domains = new Set(wishes.filter(({ wish }) => wish.kind !== "permission").map(({ wish }) => wish.what)).size;
  const features = wishes.filter(({ wish }) => wish.kind === "permission").length;
  const parts = [...(domains > 0 ? [plural(domains, "domain")] : []), ...(features > 0 ? [plural(features, "feature")] : [])];
  return parts.join(", ");
}

/** Names two wishes apart. */
export function wishKey(wish: WishView): string {
  return `${wish.kind} ${wish.what}`;
}

/** Whether a domain stands for a whole family of names. */
export function isFamily(wish: WishView): boolean {
  return wish.kind !== "permission" && wish.what.includes("://*.");
}
