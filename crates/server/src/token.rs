//! Tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use secrecy::SecretString;

/// Bytes of a token.
const BYTES: usize = 32;

/// The system's random number generator is unavailable.
#[derive(Debug, thiserror::Error)]
#[error("the system's random number generator is unavailable")]
pub struct NoRandomNumbers;

/// Returns a new token: 256 random bits, as 43 letters, digits, `-` and `_`.
///
/// # Errors
/// If the system's random number generator is unavailable.
pub fn random_token() -> Result<SecretString, NoRandomNumbers> {
    let mut bytes = [0; BYTES];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut bytes).map_err(|_| NoRandomNumbers)?;
    Ok(BASE64.encode(bytes).into())
}

/// Returns true if a string has the form of a [`random_token`].
#[must_use]
pub fn is_token(text: &str) -> bool {
    BASE64.decode(text).is_ok_and(|bytes| bytes.len() == BYTES)
}
