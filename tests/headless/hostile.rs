//! A short version of the fuzzing that `cargo xtask fuzz` does at length: always the same cases, small ones, untimed.

use usher_fuzz::{
    Target,
    make::{Size, case, listed},
    run::run,
};

/// How many cases are drawn by lot, beside every shape once.
const DRAWN: u64 = 1_000;

fn reads_everything(target: Target) {
    // The stack of the product's own worker threads: what is deep must not need more.
    let reader = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        let shapes = listed(target);
        for number in (0..shapes / 4).chain(shapes..shapes + DRAWN) {
            run(target, case(target, 1, number, Size::Small).bytes);
        }
    });
    reader.unwrap().join().unwrap();
}

#[test]
fn any_output_of_a_server_is_read() {
    reads_everything(Target::Decoder);
}

#[test]
fn any_result_is_decoded() {
    reads_everything(Target::Codec);
}

#[test]
fn any_schema_and_value_are_validated() {
    reads_everything(Target::Validator);
}

#[test]
fn any_value_is_shown() {
    reads_everything(Target::Payload);
}

#[test]
fn a_case_is_the_same_every_time_and_the_corpus_is_there() {
    for target in Target::ALL {
        assert!(usher_fuzz::corpus::of(target).len() > 5, "{} has no corpus", target.name());
        for number in [0, listed(target) + 7, 12_345] {
            assert_eq!(case(target, 3, number, Size::Small), case(target, 3, number, Size::Small));
        }
    }
}
