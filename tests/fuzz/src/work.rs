//! The child that reads cases, one after another, and says on its output where it is.
//!
//! A line `> NUMBER` before each case, so that whoever watches knows what was being read when the process ended; a line `= …` after
//! those that broke a limit, or were slower, larger or hungrier than all before.

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use nix::sys::resource::{Resource, setrlimit};

use crate::{
    Target,
    make::{Size, case},
    measure::{Extent, forget_peak, peak, worked},
    run::run,
    watch::{HUNGRIEST, SLOWEST},
};

/// How much address space a child may have, in bytes. Far above the limit that is judged: it only keeps the machine alive.
const ADDRESSES: u64 = 6 << 30;

/// The stack of the thread that reads: that of the product's own worker threads.
const STACK: usize = 2 << 20;

/// What a child is to read.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Who reads.
    pub target: Target,
    /// Where the cases come from.
    pub seed: u64,
    /// The first one.
    pub from: u64,
    /// How long to go on.
    pub span: Duration,
}

/// Reads cases until the time is over.
///
/// # Errors
/// The output is closed, or the thread that reads ended with a panic.
pub fn work(order: Order) -> anyhow::Result<()> {
    setrlimit(Resource::RLIMIT_AS, ADDRESSES, ADDRESSES)?;
    let reader = std::thread::Builder::new().stack_size(STACK).spawn(move || read(order))?;
    match reader.join() {
        Ok(outcome) => outcome,
        Err(_) => anyhow::bail!("the reader panicked"),
    }
}

fn read(order: Order) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    let end = Instant::now() + order.span;
    let (mut slowest, mut hungriest, mut extent) = (Duration::ZERO, 0, Extent::default());
    let mut number = order.from;
    while Instant::now() < end {
        let case = case(order.target, order.seed, number, Size::Any);
        let seen = extent.max(Extent::of(&case.bytes));
        writeln!(output, "> {number}").context("nobody listens")?;
        forget_peak();
        let before = worked();
        run(order.target, case.bytes);
        let mut took = worked().saturating_sub(before);
        let held = peak();
        // A machine that others use is slow for moments, also by the clock of its processor: what is slow three times is slow.
        for _ in 0..2 {
            if took <= SLOWEST {
                break;
            }
            let again = self::case(order.target, order.seed, number, Size::Any).bytes;
            writeln!(output, "> {number}").context("nobody listens")?;
            let before = worked();
            run(order.target, again);
            took = took.min(worked().saturating_sub(before));
        }
        let is_failure = took > SLOWEST || held > HUNGRIEST;
        if is_failure || took > slowest || held > hungriest || seen != extent {
            slowest = slowest.max(took);
            hungriest = hungriest.max(held);
            extent = seen;
            let Extent { depth, line, digits, bytes } = extent;
            let micros = took.as_micros();
            writeln!(output, "= {number} {micros} {held} {depth} {line} {digits} {bytes} {}", case.what)?;
        }
        number += 1;
    }
    writeln!(output, "! {number}")?;
    Ok(())
}

/// Reads one file as a case, and says what it cost.
///
/// # Errors
/// The file cannot be read, the thread that reads ended with a panic, or the case broke a limit.
pub fn replay(target: Target, file: &str) -> anyhow::Result<String> {
    let bytes = std::fs::read(file).with_context(|| format!("{file} cannot be read"))?;
    let extent = Extent::of(&bytes);
    let reader = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        forget_peak();
        let before = worked();
        run(target, bytes);
        (worked().saturating_sub(before), peak())
    })?;
    match reader.join() {
        Ok((took, held)) => {
            let told = format!("read in {took:.1?} with {} MiB; {extent:?}", held >> 20);
            anyhow::ensure!(took <= SLOWEST && held <= HUNGRIEST, "{told}");
            Ok(told)
        }
        Err(_) => anyhow::bail!("the reader panicked"),
    }
}
