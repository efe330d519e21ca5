//! The engines through their public faces.

mod engines {
    mod process;
    mod session;
}
