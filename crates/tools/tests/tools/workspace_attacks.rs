//! Attacks on the path checks that all tools use: a table of attacks, and random ones.

mod bench;
mod random;
mod swapper;
mod table;
