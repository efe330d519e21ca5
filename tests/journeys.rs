//! Journeys through the real binary.

mod support;

mod journeys {
    mod command_line;
    mod house;
    mod print;
    mod survival;
}
