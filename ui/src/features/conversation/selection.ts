import type { RuleText } from "../../bindings/RuleText";
import type { AudienceChip } from "../../bindings/AudienceChip";

/** A chip as the host writes a selector. */
export function selectorOf(chip: AudienceChip): string {
  return `${chip.audience}/${chip.format}`;
}

/** Why a list of selectors cannot be asked for; empty when it can. */
export function customProblems(selectors: readonly string[], declared: readonly AudienceChip[]): RuleText[] {
  const known = new Set(declared.map(selectorOf));
  const problems: RuleText[] = [];
  for (const selector of selectors) {
    if (!known.has(selector)) problems.push({ rule: "H11", text: `The tool does not declare ${selector}.` });
  }
  if (new Set(selectors).size !== selectors.length) {
    problems.push({ rule: "H13", text: "A variant is chosen twice." });
  }
  if (selectors.length === 0) {
    problems.push({ rule: "H16", text: "With no choice the server would send assistant/content; choose at least one." });
  }
  return problems;
}
