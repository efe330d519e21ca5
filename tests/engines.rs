//! The engines through their public faces.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it as well")]

mod engines {
    mod agent;
    mod export;
    mod faulty;
    mod layers;
    mod process;
    mod session;
    mod tools;
}
