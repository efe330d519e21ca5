//! FNV-1a, a hash whose values may be stored.

/// FNV-1a, 64 bits: the same in every process and version, which std's hasher doesn't promise.
pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
