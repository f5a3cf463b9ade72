//! Tests in the real window. They run when asked for: `cargo xtask test --only window`, or the filter `window::` with `--ignored`.
//!
//! | module | what it shows |
//! |---|---|
//! | `start` | the window opens and draws; without a display the program says so |
//! | `audiences` | each mode, with canaries: every consumer has its own and nothing else |
//! | `bench` | a View on the bench: values, surroundings, endings, the log and a fixture |
//! | `consent` | what a View asks of the user: a no lets nothing through, a yes exactly what was shown |
//! | `servers` | a server by its address is tested, added, pinned and edited; a list is reviewed before anything runs; secrets stay out |
//! | `contract` | a check from a tool's card to the place in the bytes, and a pasted result |
//! | `host_interface` | the test build, driven as a host under test: what a View finds, and what comes of its words |
//! | `display` | a View in the whole window and in a box of its own, the same frame all the while, and how it ends |
//! | `hostile` | a View that tries everything: no command runs, nothing leaves, the window stays well |
//! | `leaked_key` | a View that has the key of the page: no command runs, because it is not the only lock |
//! | `many_views` | of twenty Views those out of sight rest, and come back; what that costs |
//! | `access` | a View starts without what it declares, and has it once the user allows it |
//! | `begun` | a View draws what the model writes of its call's arguments, and hears when that is stopped |
//! | `prompts` | a prompt is read and then sent, a resource is attached or stays where it is |
//! | `screenshots` | the pictures of the README, taken anew |
//! | `test_build` | what is for tests alone is not in the product |
//! | `view_pictures` | a View's drawing is seen before it goes to the model; one that cannot be drawn does not go |
//! | `view_tools` | a View's own tool: a question, the View changes, and the model reads its answer; one that lies is not heard |
//! | `unruly` | a View that floods, loops, allocates or takes the keyboard, and a page that is lost: the conversation goes on |

mod access;
mod audiences;
mod begun;
mod bench;
mod consent;
mod contract;
mod display;
mod host_interface;
mod hostile;
mod leaked_key;
mod many_views;
mod prompts;
mod scene;
mod screenshots;
mod servers;
mod stage;
mod start;
mod test_build;
mod unruly;
mod view_pictures;
mod view_tools;
