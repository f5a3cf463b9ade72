//! What the tests of each layer said, counted from what they print, and told at the end.

use crate::process::say;

/// The tests of one layer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Layer {
    /// How people call it.
    pub(crate) name: &'static str,
    /// How many tests passed.
    pub(crate) passed: usize,
    /// How many tests failed, with each check such as the compiler's counted as one.
    pub(crate) failed: usize,
    /// What failed, by name.
    pub(crate) failures: Vec<String>,
}

impl Layer {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    /// A check that is no test: it counts when it fails.
    pub(crate) fn check(&mut self, name: &str, result: anyhow::Result<()>) {
        if let Err(error) = result {
            say(&format!("{error:#}"));
            self.fail(name);
        }
    }

    /// Something failed.
    pub(crate) fn fail(&mut self, name: &str) {
        self.failed += 1;
        self.failures.push(name.to_owned());
    }

    /// Counts what `cargo test` printed. A failure that no test accounts for, such as one of the compiler, counts as one.
    pub(crate) fn count_cargo(&mut self, succeeded: bool, output: &str) {
        let before = self.failed;
        for line in output.lines() {
            if let Some(counts) = line.strip_prefix("test result: ") {
                self.passed += number_before(counts, " passed");
                self.failed += number_before(counts, " failed");
            } else if let Some(name) =
                line.strip_prefix("test ").and_then(|test| test.strip_suffix(" ... FAILED"))
            {
                self.failures.push(name.to_owned());
            }
        }
        if !succeeded && self.failed == before {
            self.fail("cargo test (it did not build, or ended early)");
        }
    }

    /// Counts what vitest printed.
    pub(crate) fn count_vitest(&mut self, succeeded: bool, output: &str) {
        let before = self.failed;
        for line in output.lines().map(str::trim) {
            if let Some(counts) = line.strip_prefix("Tests ") {
                self.passed += number_before(counts, " passed");
                self.failed += number_before(counts, " failed");
            } else if let Some(name) = line.strip_prefix("FAIL ")
                && !self.failures.iter().any(|known| known == name.trim())
            {
                self.failures.push(name.trim().to_owned());
            }
        }
        if !succeeded && self.failed == before {
            self.fail("vitest (it did not build, or ended early)");
        }
    }
}

/// The result in words, and whether everything passed. A layer without tests has not passed.
pub(crate) fn report(mut layers: Vec<Layer>) -> (String, bool) {
    for layer in &mut layers {
        if layer.passed + layer.failed == 0 {
            layer.fail("no test ran");
        }
    }
    let mut lines = vec!["Tests by layer".to_owned()];
    for layer in &layers {
        lines.push(format!("  {:10} {:>5} passed, {:>3} failed", layer.name, layer.passed, layer.failed));
        lines.extend(layer.failures.iter().map(|failure| format!("             failed: {failure}")));
    }
    let failed: usize = layers.iter().map(|layer| layer.failed).sum();
    let passed: usize = layers.iter().map(|layer| layer.passed).sum();
    lines.push(format!("\n{passed} passed, {failed} failed"));
    (lines.join("\n"), failed == 0)
}

/// The number that stands before the words, or 0.
fn number_before(text: &str, words: &str) -> usize {
    let number = text.split(words).next().filter(|before| before.len() < text.len());
    number
        .and_then(|before| before.rsplit([' ', '\t']).next())
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_counted_over_all_its_binaries() {
        let mut layer = Layer::new("headless");
        let output = "running 2 tests\ntest a::b ... ok\ntest a::c ... FAILED\n\
                      test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 3 filtered out\n\
                      test result: ok. 12 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out\n";
        layer.count_cargo(false, output);
        assert_eq!((layer.passed, layer.failed), (13, 1));
        assert_eq!(layer.failures, ["a::c"]);
    }

    #[test]
    fn a_build_that_fails_is_a_failure() {
        let mut layer = Layer::new("headless");
        layer.count_cargo(false, "");
        assert_eq!((layer.passed, layer.failed), (0, 1));
    }

    #[test]
    fn vitest_is_counted_by_tests_and_not_by_files() {
        let mut layer = Layer::new("UI");
        let output = " FAIL  src/a.test.ts > adds\n\n Test Files  1 failed | 3 passed (4)\n      Tests  1 failed | 26 passed (27)\n";
        layer.count_vitest(false, output);
        assert_eq!((layer.passed, layer.failed), (26, 1));
        assert_eq!(layer.failures, ["src/a.test.ts > adds"]);
    }

    #[test]
    fn the_report_closes_with_the_sum() {
        let ui = Layer { passed: 26, failed: 1, failures: vec!["adds".to_owned()], ..Layer::new("UI") };
        let (text, passed) = report(vec![Layer { passed: 13, ..Layer::new("headless") }, ui]);
        assert!(!passed);
        assert!(text.ends_with("failed: adds\n\n39 passed, 1 failed"), "{text}");
    }

    #[test]
    fn a_layer_without_tests_has_not_passed() {
        assert!(!report(vec![Layer::new("window")]).1);
        assert!(report(vec![Layer { passed: 1, ..Layer::new("window") }]).1);
    }
}
