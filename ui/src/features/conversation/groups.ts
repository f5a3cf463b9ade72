import type { ConversationSummary } from "../../bindings/ConversationSummary";

export interface Group {
  title: "Today" | "Earlier";
  conversations: ConversationSummary[];
}

/** Conversations of the local day of `now` and those before it; empty groups are left out. */
export function groupByDay(all: readonly ConversationSummary[], filter: string, now: number): Group[] {
  const needle = filter.trim().toLocaleLowerCase();
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const today: Group = { title: "Today", conversations: [] };
  const earlier: Group = { title: "Earlier", conversations: [] };
  for (const one of all) {
    if (!one.title.toLocaleLowerCase().includes(needle)) continue;
    (one.updated_ms >= midnight ? today : earlier).conversations.push(one);
  }
  return [today, earlier].filter((group) => group.conversations.length > 0);
}
