//! Network addresses: detection of hosts that belong to this machine or its network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Returns the host of a web address in display form: `example.org`, `[::1]`.
#[must_use]
pub(super) fn host_of(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.host_str().map(str::to_owned))?
}

/// Returns a web address as it is requested, without user name and password.
#[must_use]
pub(super) fn plain_address(address: &str) -> Option<String> {
    let mut url = Url::parse(address).ok()?;
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    Some(url.into())
}

/// Returns true if a web address names a host of this machine or its network, by name or by number.
#[must_use]
pub fn is_private_address(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    match url.host() {
        Some(Host::Domain(name)) => is_local_name(name.trim_end_matches('.')),
        Some(Host::Ipv4(address)) => is_private(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => is_private(IpAddr::V6(address)),
        None => false,
    }
}

/// Returns the place of a host that [`is_private_address`] detects: this machine or the local network.
#[must_use]
pub(super) fn private_place(address: &str) -> Option<&'static str> {
    if !is_private_address(address) {
        return None;
    }
    let is_this_machine = match Url::parse(address).ok()?.host()? {
        Host::Domain(name) => is_loopback_name(name.trim_end_matches('.')),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    Some(if is_this_machine { "this machine" } else { "the local network" })
}

fn is_loopback_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

fn is_local_name(name: &str) -> bool {
    is_loopback_name(name) || !name.contains('.')
}

/// Returns true for an IP address that isn't globally reachable: loopback, private, link-local and other
/// special addresses (IANA's registries of special-purpose addresses), and addresses that embed such an
/// address.
#[must_use]
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || matches!((a, b, c), (0, ..) | (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _) | (240.., ..))
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, .., g, h] = address.segments();
    let embedded = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
        is_private_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b) {
        // Mapped, compatible and translated addresses end with an IPv4 address; 6to4 addresses start with
        // one.
        (0, 0) | (0x64, 0xff9b) => address.is_loopback() || address.is_unspecified() || embedded(g, h),
        (0x2002, _) => embedded(b, c),
        _ => {
            address.is_unique_local()
                || address.is_unicast_link_local()
                || address.is_multicast()
                || a == 0x100
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_private_address_recognizes_every_form() {
        for (address, expected) in [
            ("https://example.org/x", false),
            ("http://93.184.216.34/", false),
            ("http://[2606:2800:220:1::]/", false),
            ("http://localhost:3000/", true),
            ("http://LOCALHOST./", true),
            ("http://app.localhost/", true),
            ("http://intranet/", true),
            ("http://127.0.0.1/", true),
            ("http://2130706433/", true),
            ("http://0x7f.1/", true),
            ("http://0/", true),
            ("http://10.1.2.3/", true),
            ("http://172.16.0.1/", true),
            ("http://192.168.0.1/", true),
            ("http://169.254.169.254/latest/meta-data/", true),
            ("http://100.100.100.200/", true),
            ("http://[::1]/", true),
            ("http://[::ffff:10.0.0.1]/", true),
            ("http://[64:ff9b::a00:1]/", true),
            ("http://[2002:a00:1::]/", true),
            ("http://[fd00::1]/", true),
            ("http://[fe80::1]/", true),
            ("no address", false),
        ] {
            assert_eq!(is_private_address(address), expected, "{address}");
        }
    }

    #[test]
    fn private_place_tells_this_machine_from_its_network() {
        for (address, expected) in [
            ("http://app.localhost.:3000/", Some("this machine")),
            ("http://127.0.0.2/", Some("this machine")),
            ("http://[::1]/", Some("this machine")),
            ("http://intranet/", Some("the local network")),
            ("http://10.1.2.3/", Some("the local network")),
            ("http://[fe80::1]/", Some("the local network")),
            ("https://example.org/", None),
            ("no address", None),
        ] {
            assert_eq!(private_place(address), expected, "{address}");
        }
    }

    #[test]
    fn host_of_web_address_only() {
        assert_eq!(host_of("https://Docs.rs:443/x"), Some("docs.rs".into()));
        assert_eq!(host_of("http://[::1]:80/"), Some("[::1]".into()));
        assert_eq!((host_of("file:///etc/passwd"), host_of("docs.rs")), (None, None));
    }
}
