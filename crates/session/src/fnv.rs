//! FNV-1a, a hash that may be stored.

/// Returns the 64-bit FNV-1a hash, which is the same in every process and version, unlike that of std's
/// hasher.
pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
