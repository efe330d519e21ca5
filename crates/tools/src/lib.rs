//! What a model may do: the trait [`Tool`](tool::Tool) and the built-in tools, the workspace that they reach, the policy that
//! allows or denies calls, and the supervision of child processes.
pub mod policy;
pub mod process;
pub mod tool;
pub mod workspace;
