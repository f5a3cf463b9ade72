import { RULES } from "../bindings/Rules";

/** What a rule says, or just its number when this window is older than the rule. */
export function ruleText(rule: string): string {
  const text = RULES[rule];
  return text === undefined ? `Rule ${rule}` : `${rule}: ${text}`;
}
