/** What the rules of the audience-routing proposal say, in a line each, for the badge of a ledger row. */
const RULES: Readonly<Record<string, string>> = {
  H01: "An output's audience is assistant, user, programmatic or a negotiated extension; anything else reaches nobody.",
  H02: "The output's audience alone decides its way, not its format, its content or the annotations of its blocks.",
  H03: "Only five core pairs exist; other pairs come only from a negotiated extension.",
  H04: "A structured output is checked against the schema of its own variant, never another's.",
  H05: "An error output need not fit the schema of a success.",
  H06: "A tool must not declare the same pair of audience and format twice.",
  H07: "A tool must declare assistant/content.",
  H08: "A declaration must not name an extension that was not negotiated.",
  H09: "Under the new revision a tool without outputVariants is an invalid response.",
  H10: "requestedOutputs is never sent on a request of an earlier revision.",
  H11: "Only variants that the tool declares are asked for.",
  H12: "An extension is asked for only when both sides have advertised it.",
  H13: "No selector is sent twice.",
  H14: "What is asked for is the host's choice and never the model's.",
  H15: "A schema that is shown for planning is the one of the variant that will be asked for.",
  H16: "Without requestedOutputs exactly one assistant/content output is expected.",
  H17: "user/structured is asked for only when it can be presented.",
  H18: "A structured variant without a schema may be declined, visibly.",
  H19: "An output that is missing, was not asked for, came twice or differs from its selector is a defect of the server; what was not asked for reaches nobody.",
  H20: "The order of outputs means nothing.",
  H21: "Assistant outputs may enter the model's context.",
  H22: "User outputs are never added to the model's context automatically.",
  H23: "Programmatic outputs are never added to the model's context or shown automatically.",
  H24: "An extension's output follows the extension's rules only.",
  H25: "A further audience needs a product policy or a user's action, and is recorded as such.",
  H26: "Result metadata has no audience and reaches nobody, unless an extension defines an entry.",
  H27: "Error outputs are not put in each other's place; an empty list of outputs is a defect.",
  H28: "A View receives the output that is meant for it, and nothing else.",
  H29: "Under earlier revisions a View receives the whole result, as the Apps extension says.",
  H30: "App-only tools are not there for the model or for scripts.",
  H31: "Under earlier revisions the earlier shapes and the local policy hold.",
  H32: "A refused selection is shown; another variant is never put in its place silently.",
  H33: "A result is untrusted input whatever its audience.",
  H34: "An App's output is not checked with the programmatic schema.",
};

/** What a rule says, or just its number when it is not known here. */
export function ruleText(rule: string): string {
  const text = RULES[rule];
  return text === undefined ? `Rule ${rule}` : `${rule}: ${text}`;
}
