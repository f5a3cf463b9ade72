//! What a server's developer does about each finding.
//!
//! Deliberately absent: what is owed, which is the text of the check itself.

/// The remedy for the check of this number.
pub(super) fn of(id: &str) -> &'static str {
    REMEDIES.iter().find(|it| it.0 == id).map_or("", |it| it.1)
}

const REMEDIES: &[(&str, &str)] = &[
    (
        "S01",
        "Declare assistant/content for every tool, each pair once, and an extension's audience only if the client advertised the extension.",
    ),
    (
        "S02",
        "Say in assistant/content what a model needs to answer: the values, or a summary of them. It cannot follow a pointer to another audience's output.",
    ),
    (
        "S03",
        "Declare a schema for each structured variant, made for its audience: what a program reads is not what a person looks at.",
    ),
    (
        "S04",
        "Build the outputs from requestedOutputs: one for each selector, in its audience and format, and nothing else.",
    ),
    ("S05", "Without requestedOutputs answer with assistant/content alone."),
    (
        "S06",
        "Refuse such a selection with error -32602 before the tool runs; never leave a selector out or put another in its place.",
    ),
    (
        "S07",
        "Validate each structured output against its own variant's schema before it is sent; change the value or the schema.",
    ),
    ("S08", "Leave the text copy out: a host that wants text for a model asks for assistant/content."),
    ("S09", "Set isError where the operation failed, so that every output tells the same outcome."),
    (
        "S10",
        "Answer a failure with an output for each selector that can say something useful, or with a JSON-RPC error if none can.",
    ),
    (
        "S11",
        "Under earlier revisions leave outputVariants out, and take outputSchema from assistant/structured alone.",
    ),
    (
        "S12",
        "Under earlier revisions make content from assistant/content, structuredContent from assistant/structured, and put the JSON into a text block.",
    ),
    ("S13", "Refuse an unknown revision with error -32022, whose data lists the supported ones."),
    (
        "S14",
        "Put what is meant for an audience into its output. In _meta nobody is the reader, and secrets never belong into a result.",
    ),
    ("L1", "Return structuredContent with every successful result, or declare no outputSchema."),
    (
        "L2",
        "Return what the schema says, or declare what is returned. A required field stays where a list is empty.",
    ),
    (
        "L3",
        "Give the field one type in every case: an empty list in place of a text, null or nothing where there is no value.",
    ),
    ("L4", "Put the answer into a text block as well, and for a failure the reason."),
    (
        "L5",
        "Put the JSON of structuredContent into a text block, so that a client that reads only content has the same values.",
    ),
    (
        "L6",
        "Answer with a result whose isError is true and whose text says why. A JSON-RPC error is for a request that cannot be handled at all.",
    ),
    ("L7", "Describe the payload alone: content, isError and structuredContent are around it and not in it."),
    ("W1", "Write logs and banners to stderr, and each message as one line in one piece."),
    ("W2", "Write UTF-8; decode what comes from elsewhere before it goes into a message."),
    ("W3", "Answer each request, with an error if the work failed or takes too long."),
    ("W4", "Catch what goes wrong in a call and answer it; end when standard input closes."),
    (
        "W5",
        "Stop the work of a request that was cancelled and send nothing for it; answer every other request once.",
    ),
    ("W6", "Answer a method that is not known with error -32601 and go on."),
    ("W7", "Send what the negotiated revision's schema says, in names and in types."),
];

#[cfg(test)]
mod tests {
    use usher_protocol::Rule;

    use crate::contract::{Check, Legacy, Wire};

    #[test]
    fn each_check_says_what_to_do() {
        let rules = Rule::ALL.iter().filter(|it| it.id().starts_with('S')).map(|it| Check::Server(*it));
        let legacy = Legacy::ALL.iter().map(|it| Check::Legacy(*it));
        let all: Vec<Check> =
            rules.chain(legacy).chain(Wire::ALL.iter().map(|it| Check::Wire(*it))).collect();
        assert_eq!(all.len(), 28);
        for check in all {
            assert!(!check.remedy().is_empty(), "{check}");
        }
    }
}
