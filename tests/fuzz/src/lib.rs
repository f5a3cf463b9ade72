//! Hostile input for the decoder of lines, the codec, the validator and the views of values.
//!
//! A case is bytes, made from a number: [`make::case`] gives the same bytes for the same number, so a case that failed is known by its
//! number and kept as a file. [`run::run`] lets one target read them. [`watch`] starts a child that does so ([`work`]), with a clock and
//! a limit of memory around it, because a stack that overflows takes its process with it.
//!
//! Deliberately absent: feedback from the code that was reached, which needs a nightly compiler. What the cases lack in aim they have in
//! structure: messages, declarations and schemas are grown from grammars, taken from a corpus and mutated, and [`giant`] holds the
//! shapes that break parsers when they are large.

pub mod corpus;
pub mod giant;
pub mod grammar;
pub mod make;
pub mod measure;
pub mod mutate;
pub mod random;
pub mod run;
pub mod schema;
pub mod watch;
pub mod work;

/// What reads a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A server's output: lines, messages, batches, events and bodies of HTTP, through the wire with its requests.
    Decoder,
    /// The results of `tools/list` and `tools/call` at every revision, and JSON-RPC messages.
    Codec,
    /// A schema and a value: validating, adapting for providers, making arguments.
    Validator,
    /// A value as the window shows it: tables, trees, exports.
    Payload,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Decoder, Self::Codec, Self::Validator, Self::Payload];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Decoder => "decoder",
            Self::Codec => "codec",
            Self::Validator => "validator",
            Self::Payload => "payload",
        }
    }

    /// The target of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// Stands between the schema and the value of a case for the validator; JSON text never holds it.
pub const SEPARATOR: u8 = 0;

/// The largest case, in bytes.
pub const LARGEST: usize = 64 << 20;
