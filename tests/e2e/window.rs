//! Tests in the real window. They run when asked for: `cargo xtask test --only window`, or the filter `window::` with `--ignored`.
//!
//! | module | what it shows |
//! |---|---|
//! | `start` | the window opens and draws |

mod start;
