//! Attacks on the gate that every path of every tool goes through: a table of them, and random ones.

mod bench;
mod random;
mod swapper;
mod table;
