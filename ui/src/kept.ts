/**
 * What a page leaves to the one that comes after it in the same window, if it is lost: which conversation was shown, and
 * what stands in the composers. It ends with the window. Everything else is the host's.
 */
const KEPT_UNDER = "usher.page";

export interface Kept {
  conversation: string | null;
  drafts: Record<string, string>;
}

export function kept(): Kept {
  const none: Kept = { conversation: null, drafts: {} };
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(KEPT_UNDER) ?? "{}");
    if (typeof value !== "object" || value === null) return none;
    const { conversation, drafts } = value as Record<string, unknown>;
    const texts = typeof drafts === "object" && drafts !== null ? Object.entries(drafts) : [];
    return {
      conversation: typeof conversation === "string" ? conversation : null,
      drafts: Object.fromEntries(texts.filter((entry): entry is [string, string] => typeof entry[1] === "string")),
    };
  } catch {
    return none;
  }
}

export function keep(now: Kept): void {
  try {
    sessionStorage.setItem(KEPT_UNDER, JSON.stringify(now));
  } catch {
    // A draft too large to be kept is still there to be sent.
  }
}
