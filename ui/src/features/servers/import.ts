import type { ImportChoice } from "../../bindings/ImportChoice";
import type { ImportEntry } from "../../bindings/ImportEntry";
import type { ImportInput } from "../../bindings/ImportInput";
import type { ImportReview } from "../../bindings/ImportReview";
import { plural } from "../../components/format";

/** What the person decides about one server of a list. */
export interface Pick {
  /** Whether it is kept. */
  take: boolean;
  /** Whether it starts; nothing does before the person says so. */
  start: boolean;
  name: string;
}

/** The decisions, by the servers' keys. */
export type Picks = Record<string, Pick>;

/** What stands there before anything is decided: everything is taken that has a free name, and nothing starts. */
export function firstPicks(review: ImportReview): Picks {
  return Object.fromEntries(review.servers.map((it) => [it.key, { take: !it.taken, start: false, name: it.name }]));
}

/** The entries that are taken. */
export function takenEntries(review: ImportReview, picks: Picks): ImportEntry[] {
  return review.servers.filter((it) => picks[it.key]?.take === true);
}

/** What is wrong with the names that were chosen, by key. `names` are the servers that are here. */
export function nameProblems(review: ImportReview, picks: Picks, names: readonly string[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const seen = new Set<string>();
  for (const { key, name: original } of takenEntries(review, picks)) {
    const name = (picks[key]?.name ?? original).trim();
    if (name === "") found[key] = "It needs a name.";
    else if (names.includes(name)) found[key] = "A server of this name is here. Choose another name.";
    else if (seen.has(name)) found[key] = "Another of the list has this name.";
    seen.add(name);
  }
  return found;
}

/** The inputs that the chosen servers need. */
export function neededInputs(review: ImportReview, picks: Picks): ImportInput[] {
  const keys = new Set(takenEntries(review, picks).map((it) => it.key));
  return review.inputs.filter((it) => it.used_by.some((key) => keys.has(key)));
}

/** The inputs that must be filled before a server that shall start can, by id. */
export function inputProblems(review: ImportReview, picks: Picks, filled: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const input of neededInputs(review, picks)) {
    const starts = takenEntries(review, picks).filter((it) => picks[it.key]?.start === true && input.used_by.includes(it.key));
    if (starts.length > 0 && (filled[input.id] ?? "") === "") {
      found[input.id] = `${starts.map((it) => picks[it.key]?.name ?? it.name).join(" and ")} cannot start without it.`;
    }
  }
  return found;
}

/** What is sent to the host. */
export function choices(review: ImportReview, picks: Picks): ImportChoice[] {
  return takenEntries(review, picks).map(({ key, name }) => {
    const pick = picks[key];
    return { key, name: (pick?.name ?? name).trim(), enabled: pick?.start === true };
  });
}

/** What was said for the inputs that are needed; an empty one was not said. */
export function saidInputs(review: ImportReview, picks: Picks, filled: Readonly<Record<string, string>>): [string, string][] {
  return neededInputs(review, picks).flatMap(({ id }): [string, string][] => {
    const said = filled[id] ?? "";
    return said === "" ? [] : [[id, said]];
  });
}

/** What the button says: how many are kept and how many start. */
export function importLabel(review: ImportReview, picks: Picks): string {
  const all = choices(review, picks);
  const start = all.filter((it) => it.enabled).length;
  if (all.length === 0) return "Import";
  return `Import ${plural(all.length, "server")}${start === 0 ? "" : start === all.length ? (start === 1 ? " and start it" : " and start them") : ` and start ${start}`}`;
}
