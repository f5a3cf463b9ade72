import type { SearchHitView } from "../../bindings/SearchHitView";

/** A piece of a snippet, and whether it is what was searched for. */
export interface SnippetPart {
  text: string;
  found: boolean;
}

/** What was found in one conversation. */
export interface FoundIn {
  id: string;
  title: string;
  hits: SearchHitView[];
}

/** The words of a query, as the host takes it apart: each must be found, in any case, also as a part of a word. */
export function wordsOf(query: string): string[] {
  return query.split(/\s+/u).filter((word) => word !== "");
}

/** A snippet cut at every word of the query, without regard to case; the parts joined give the snippet back. */
export function marked(snippet: string, query: string): SnippetPart[] {
  const words = wordsOf(query).sort((a, b) => b.length - a.length);
  if (words.length === 0) return [{ text: snippet, found: false }];
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  // A split by a group gives what stands between and what was found by turns.
  return snippet
    .split(new RegExp(`(${escaped.join("|")})`, "giu"))
    .map((text, i) => ({ text, found: i % 2 === 1 }))
    .filter((part) => part.text !== "");
}

/** Characters that may stand before the first hit, so that it is in sight in a narrow list. */
const LEAD = 20;

/** The parts with what stands before the first hit cut to its last words. */
export function inSight(parts: readonly SnippetPart[]): SnippetPart[] {
  const [lead, ...rest] = parts;
  if (lead === undefined || lead.found || rest.length === 0 || lead.text.length <= LEAD) return [...parts];
  return [{ text: `…${lead.text.slice(-LEAD).replace(/^\S*\s/u, "")}`, found: false }, ...rest];
}

/** The hits by conversation, each in the order in which they came. */
export function byConversation(hits: readonly SearchHitView[]): FoundIn[] {
  const groups = new Map<string, FoundIn>();
  for (const hit of hits) {
    const group = groups.get(hit.conversation_id) ?? { id: hit.conversation_id, title: hit.title, hits: [] };
    group.hits.push(hit);
    groups.set(hit.conversation_id, group);
  }
  return [...groups.values()];
}
