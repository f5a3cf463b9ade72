//! Tests in the real window. They run when asked for: `cargo xtask test --only window`, or the filter `window::` with `--ignored`.
//!
//! | module | what it shows |
//! |---|---|
//! | `start` | the window opens and draws |
//! | `audiences` | each mode, with canaries: every consumer has its own and nothing else |
//! | `consent` | what a View asks of the user: a no lets nothing through, a yes exactly what was shown |
//! | `servers` | a server by its address is tested, added, pinned and edited; a list is reviewed before anything runs; secrets stay out |
//! | `contract` | a check from a tool's card to the place in the bytes, and a pasted result |
//! | `display` | a View in the whole window and in a box of its own, the same frame all the while, and how it ends |
//! | `hostile` | a View that tries everything: no command runs, nothing leaves, the window stays well |
//! | `prompts` | a prompt is read and then sent, a resource is attached or stays where it is |
//! | `screenshots` | the pictures of the README, taken anew |

mod audiences;
mod consent;
mod contract;
mod display;
mod hostile;
mod prompts;
mod screenshots;
mod servers;
mod stage;
mod start;
