//! The bytes of a case, from its number.

use crate::{LARGEST, SEPARATOR, Target, corpus, giant, grammar, mutate::mutate, random::Random, schema};

/// A case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// What is read.
    pub bytes: Vec<u8>,
    /// What it is, for people.
    pub what: String,
}

/// How large cases may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Up to 4 KiB: for tests that run every time.
    Small,
    /// Up to [`LARGEST`].
    Any,
}

/// How many cases come before those that are drawn by lot: every giant at every size of [`SIZES`].
pub fn listed(target: Target) -> u64 {
    u64::try_from(SIZES.len() * shapes(target).count()).unwrap_or(0)
}

/// The sizes at which every giant is tried, in bytes.
pub const SIZES: [usize; 4] = [64, 64 << 10, 4 << 20, LARGEST];

fn shapes(target: Target) -> impl Iterator<Item = &'static giant::Giant> {
    let events: &[giant::Giant] = if target == Target::Decoder { &giant::EVENTS } else { &[] };
    giant::giants(target).iter().chain(events)
}

/// The case of a number.
pub fn case(target: Target, seed: u64, number: u64, size: Size) -> Case {
    let most = if size == Size::Small { 4_096 } else { LARGEST };
    if let Some((size, (name, shape))) = nth_listed(target, number) {
        return Case {
            bytes: bounded(shape(size.min(most)), most),
            what: format!("{name}, {} bytes", size.min(most)),
        };
    }
    let mut random = Random::new(seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
    if random.once_in(64) {
        let shapes: Vec<_> = shapes(target).collect();
        let (name, shape) = random.of(&shapes);
        // Large ones are rare, because each takes as long as thousands of others.
        let limit = if random.once_in(16) { most } else { most.min(1 << 16) };
        let mut bytes = shape(random.length(limit).max(64));
        let what = if random.once_in(2) {
            mutate(&mut random, &mut bytes, b"{\"jsonrpc\":\"2.0\",\"id\":2000000003,\"result\":{}}\n");
            format!("{name}, mutated")
        } else {
            (*name).to_owned()
        };
        return Case { bytes: bounded(bytes, most), what };
    }
    let (mut bytes, mut what) = if random.once_in(3) {
        let kept = corpus::of(target);
        let (name, text) = random.of(kept);
        (text.to_vec(), format!("corpus {name}"))
    } else {
        (grown(target, &mut random), "grown".to_owned())
    };
    if !random.once_in(3) {
        let other = grown(target, &mut random);
        mutate(&mut random, &mut bytes, &other);
        what.push_str(", mutated");
    }
    Case { bytes: bounded(bytes, most), what }
}

fn nth_listed(target: Target, number: u64) -> Option<(usize, &'static giant::Giant)> {
    let shapes = shapes(target).count();
    let number = usize::try_from(number).ok()?;
    let size = SIZES.get(number / shapes)?;
    Some((*size, shapes_nth(target, number % shapes)?))
}

fn shapes_nth(target: Target, place: usize) -> Option<&'static giant::Giant> {
    shapes(target).nth(place)
}

fn bounded(mut bytes: Vec<u8>, most: usize) -> Vec<u8> {
    bytes.truncate(most);
    bytes
}

fn grown(target: Target, random: &mut Random) -> Vec<u8> {
    match target {
        Target::Decoder => {
            let ends = ["\n", "\n", "\n", "\r\n", "\n\n", "\ndata: ", ""];
            let lines: Vec<String> = (0..=random.below(6))
                .map(|_| format!("{}{}", grammar::message(random), random.of(&ends)))
                .collect();
            lines.concat().into_bytes()
        }
        Target::Codec => match random.below(4) {
            0 => grammar::message(random),
            1 => grammar::tools(random),
            _ => grammar::result(random),
        }
        .into_bytes(),
        Target::Validator => {
            let schema = schema::schema(random);
            let depth = random.below(6);
            [schema.as_bytes(), &[SEPARATOR], schema::instance(random, depth).as_bytes()].concat()
        }
        Target::Payload => match random.below(3) {
            0 => grammar::value(random, 5),
            1 => schema::instance(random, 5),
            _ => {
                let rows: Vec<String> = (0..random.length(64)).map(|_| schema::instance(random, 3)).collect();
                format!("[{}]", rows.join(","))
            }
        }
        .into_bytes(),
    }
}
