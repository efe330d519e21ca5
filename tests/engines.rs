//! The engines through their public faces.

mod engines {
    mod layers;
    mod process;
    mod session;
}
