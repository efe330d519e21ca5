//! `--plain`.
