//! The variables that name proxies. reqwest reads them itself, but ignores an invalid one, so that a request
//! with a key would go directly to the server.

use hyper_util::client::proxy::matcher::Matcher;

/// The proxy for requests to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyUse {
    /// The system's, if it has one.
    #[default]
    System,
    /// None.
    Direct,
    /// The variable that names it is invalid; the problem.
    Invalid(String),
}

impl ProxyUse {
    /// Returns the proxy for a server, given the environment's variables. No server has one if `NO_PROXY` contains `*`.
    pub fn from_variables(base_url: &str, variable: impl Fn(&str) -> Option<String>) -> Self {
        if contains_all(&no_proxy(&variable)) {
            return Self::Direct;
        }
        find_fault(base_url, variable).map_or(Self::System, Self::Invalid)
    }
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
    if !accepts("http://proxy") {
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
        match ProxyUse::from_variables(base_url, value) {
            ProxyUse::Invalid(fault) => Some(fault),
            ProxyUse::System | ProxyUse::Direct => None,
        }
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
        let proxy = |list: &str| {
            ProxyUse::from_variables("http://10.0.0.1", |name| (name == "NO_PROXY").then(|| list.to_owned()))
        };
        assert_eq!(["*", "a.example, *"].map(proxy), [ProxyUse::Direct, ProxyUse::Direct]);
        assert_eq!(["", "*.example"].map(proxy), [ProxyUse::System, ProxyUse::System]);
    }
}
