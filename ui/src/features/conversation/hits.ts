/** A piece of a snippet, and whether it is what was searched for. */
export interface SnippetPart {
  text: string;
  found: boolean;
}

/** A snippet cut at every occurrence of the query, without regard to case; the parts joined give the snippet back. */
export function marked(snippet: string, query: string): SnippetPart[] {
  if (query === "") return [{ text: snippet, found: false }];
  const escaped = query.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  // A split by a group gives what stands between and what was found by turns.
  return snippet
    .split(new RegExp(`(${escaped})`, "giu"))
    .map((text, i) => ({ text, found: i % 2 === 1 }))
    .filter((part) => part.text !== "");
}
