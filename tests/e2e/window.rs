//! Tests in the real window. They run when asked for: `cargo xtask test --only window`, or the filter `window::` with `--ignored`.
//!
//! | module | what it shows |
//! |---|---|
//! | `start` | the window opens and draws |
//! | `audiences` | each mode, with canaries: every consumer has its own and nothing else |
//! | `consent` | what a View asks of the user: a no lets nothing through, a yes exactly what was shown |
//! | `servers` | a server by its address is tested, added, pinned and edited; a list is reviewed before anything runs; secrets stay out |
//! | `screenshots` | the pictures of the README, taken anew |

mod audiences;
mod consent;
mod screenshots;
mod servers;
mod stage;
mod start;
