//! The variables that name proxies. reqwest reads them itself, but ignores an invalid one, so that a request
//! with a key would go directly to the server.

use hyper_util::client::proxy::matcher::Matcher;

use super::endpoint::is_loopback;

/// Checks whether a server is reached without a proxy: one on this machine, because a remote proxy would
/// connect to itself instead, and every server if `NO_PROXY` contains `*`.
pub(super) fn is_direct(base_url: &str) -> bool {
    is_loopback(base_url) || contains_all(&no_proxy(environment))
}

/// Returns the problem with the variable that names the proxy for a server.
#[must_use]
pub fn proxy_fault(base_url: &str) -> Option<String> {
    find_fault(base_url, environment)
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn no_proxy(variable: impl Fn(&str) -> Option<String>) -> String {
    variable("NO_PROXY").or_else(|| variable("no_proxy")).unwrap_or_default()
}

/// Returns true if the list excludes all hosts. reqwest applies `*` only to host names, not to addresses.
fn contains_all(no_proxy: &str) -> bool {
    no_proxy.split(',').any(|entry| entry.trim() == "*")
}

/// The names are in reqwest's order. The value isn't quoted, because it may contain a password.
fn find_fault(base_url: &str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let server = base_url.parse().ok()?;
    let no_proxy = no_proxy(&variable);
    let accepts =
        |proxy: &str| Matcher::builder().all(proxy).no(&no_proxy).build().intercept(&server).is_some();
    if contains_all(&no_proxy) || !accepts("http://proxy") {
        return None;
    }
    let of_scheme = match base_url.starts_with("https:") {
        true => ["HTTPS_PROXY", "https_proxy"],
        false => ["HTTP_PROXY", "http_proxy"],
    };
    let set = |names: [&'static str; 2]| names.into_iter().find_map(|name| Some((name, variable(name)?)));
    let mut found = [of_scheme, ["ALL_PROXY", "all_proxy"]].into_iter().filter_map(set);
    let (name, proxy) = found.find(|(_, value)| !value.is_empty())?;
    (!accepts(&proxy)).then(|| {
        format!("{name} is invalid: expected the URL of a proxy, http://HOST:PORT, https:// or socks5://")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(base_url: &str, variables: &[(&str, &str)]) -> Option<String> {
        let value =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        find_fault(base_url, value)
    }

    #[test]
    fn proxy_fault_names_the_invalid_variable() {
        let server = "https://api.example.com/v1";
        for invalid in ["garbage%%//text", ":::", "ftp://127.0.0.1:9500", " http://proxy:1", "http://"] {
            let found = fault(server, &[("https_proxy", invalid)]).unwrap();
            assert!(found.starts_with("https_proxy is invalid: expected"), "{invalid}: {found}");
            assert!(fault(server, &[("HTTPS_PROXY", ""), ("ALL_PROXY", invalid)]).is_some(), "{invalid}");
        }
        for valid in ["", "proxy:3128", "http://me:pw@proxy:3128/", "https://proxy", "socks5h://[::1]:1080"] {
            assert_eq!(fault(server, &[("HTTPS_PROXY", valid)]), None, "{valid}");
        }
    }

    #[test]
    fn proxy_fault_is_only_of_the_variable_that_applies() {
        let variables =
            [("HTTP_PROXY", ":::"), ("HTTPS_PROXY", "http://proxy"), ("ALL_PROXY", "socks://proxy")];
        assert_eq!(fault("https://api.example.com", &variables), None);
        assert!(fault("http://api.example.com", &variables).unwrap().starts_with("HTTP_PROXY"));
        for excluded in ["*", "example.com", "other, .example.com"] {
            assert_eq!(
                fault("http://api.example.com", &[("HTTP_PROXY", ":::"), ("NO_PROXY", excluded)]),
                None
            );
        }
    }

    #[test]
    fn no_proxy_star_excludes_all_servers() {
        assert!(contains_all("*") && contains_all("a.example, *"));
        assert!(!contains_all("") && !contains_all("*.example"));
    }
}
