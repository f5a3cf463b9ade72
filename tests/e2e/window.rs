//! Tests in the real window. They run when asked for: `cargo xtask test --only window`, or the filter `window::` with `--ignored`.
//!
//! | module | what it shows |
//! |---|---|
//! | `start` | the window opens and draws |
//! | `audiences` | each mode, with canaries: every consumer has its own and nothing else |
//! | `screenshots` | the pictures of the README, taken anew |

mod audiences;
mod screenshots;
mod stage;
mod start;
