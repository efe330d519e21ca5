//! Built-in tools and their safety: the trait [`Tool`](tool::Tool) and its implementations, the workspace
//! that limits paths, the policy that decides on calls, the sandbox for commands, and the supervision of child
//! processes.
pub mod policy;
pub mod process;
pub mod sandbox;
pub mod tool;
pub mod workspace;
