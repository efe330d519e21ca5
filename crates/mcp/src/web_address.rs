//! Addresses that a server gives for the user's browser.

/// Maximum length of an address, in bytes: as long as browsers take, and short enough to be read.
const MAX_URL: usize = 2_000;

/// Parses the address of a web page, which is shown in full before it is opened; returns its host.
///
/// # Errors
/// The reason it must not be opened.
pub(crate) fn parse_host(url: &str) -> Result<String, &'static str> {
    const NO_HOST: &str = "its address has no host";
    let after_scheme = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    match after_scheme.map(|rest| rest.chars().next()) {
        None => return Err("its address is not a web address (http or https)"),
        // Browsers skip further slashes and take what follows for the host.
        Some(None | Some('/' | '?' | '#' | ':')) => return Err(NO_HOST),
        Some(Some(_)) => {}
    }
    // Browsers take a backslash for a slash, so that it hides the host.
    let is_plain = url.len() <= MAX_URL && url.chars().all(|c| c.is_ascii_graphic() && c != '\\');
    let parsed = reqwest::Url::parse(url).ok().filter(|_| is_plain).ok_or("its address is not valid")?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("its address has a user name before the host");
    }
    parsed.host_str().map(str::to_owned).ok_or(NO_HOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_host_is_the_one_that_a_browser_connects_to() {
        for (url, host) in [
            ("https://Example.org/a?b=%20", "example.org"),
            ("http://127.0.0.1:8080/x", "127.0.0.1"),
            ("https://good.org%2eevil.org", "good.org.evil.org"),
            ("https://evil.org#@good.org/", "evil.org"),
            ("https://evil.org?x=https://good.org", "evil.org"),
        ] {
            assert_eq!(parse_host(url), Ok(host.to_owned()), "{url}");
        }
    }

    #[test]
    fn parse_host_refuses_addresses_without_host() {
        for url in
            ["https://", "https:///x", "http:////evil.org/", "https://?x", "https://#x", "https://:80/"]
        {
            assert_eq!(parse_host(url), Err("its address has no host"), "{url}");
        }
    }

    #[test]
    fn parse_host_accepts_only_web_pages() {
        let long = format!("https://example.org/{}", "a".repeat(MAX_URL));
        for url in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://a b",
            "https://a\u{1b}[1m",
            "https://good.org@evil.org/",
            "https://evil.org\\@good.org/",
            "https://ä.org",
            &long,
        ] {
            assert!(parse_host(url).is_err(), "{url}");
        }
    }
}
