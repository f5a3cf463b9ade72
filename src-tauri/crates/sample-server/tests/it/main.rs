//! The sample server as a client meets it: lines in, lines out.
//!
//! `golden` holds the exact lines of each revision, `rules` has a test for each rule that binds a server, `defects` one for each
//! switch, and `switches` how they are written.

#[cfg(test)]
mod defects;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod support;
#[cfg(test)]
mod switches;
