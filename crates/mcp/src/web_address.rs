//! Addresses that a server names for the user's browser.

/// Maximum length of an address, in bytes: as long as browsers take, and short enough to be read.
const MAX_URL: usize = 2_000;

/// Accepts addresses of web pages, which are shown in full before they are opened.
pub(crate) fn check_url(url: &str) -> Result<(), &'static str> {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    if !is_web {
        return Err("its address is not one of a web page");
    }
    // Browsers take a backslash for a slash, so that it hides the host.
    let is_plain = url.len() <= MAX_URL && url.chars().all(|c| c.is_ascii_graphic() && c != '\\');
    let parsed = reqwest::Url::parse(url).ok().filter(|_| is_plain).ok_or("its address is not valid")?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("its address has a user's name before the host");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_url_accepts_only_web_pages() {
        for url in ["https://example.org/a?b=%20", "http://127.0.0.1:8080/x"] {
            assert_eq!(check_url(url), Ok(()), "{url}");
        }
        let long = format!("https://example.org/{}", "a".repeat(MAX_URL));
        for url in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://a b",
            "https://a\u{1b}[1m",
            "https://good.org@evil.org/",
            "https://evil.org\\@good.org/",
            "https://",
            "https://ä.org",
            &long,
        ] {
            assert!(check_url(url).is_err(), "{url}");
        }
    }
}
