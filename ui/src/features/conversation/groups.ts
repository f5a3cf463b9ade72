import type { ConversationSummary } from "../../bindings/ConversationSummary";
import { wordsOf } from "./hits";

export interface Group {
  title: "Today" | "Earlier";
  conversations: ConversationSummary[];
}

/** Conversations whose title has every word, of the local day of `now` and those before it; empty groups are left out. */
export function groupByDay(all: readonly ConversationSummary[], filter: string, now: number): Group[] {
  const words = wordsOf(filter.toLocaleLowerCase());
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const today: Group = { title: "Today", conversations: [] };
  const earlier: Group = { title: "Earlier", conversations: [] };
  for (const one of all) {
    const title = one.title.toLocaleLowerCase();
    if (!words.every((word) => title.includes(word))) continue;
    (one.updated_ms >= midnight ? today : earlier).conversations.push(one);
  }
  return [today, earlier].filter((group) => group.conversations.length > 0);
}
