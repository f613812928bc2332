//! The proxy on the way to a Collector, by the variables that curl and the SDKs read.
//!
//! ```text
//! http:    HTTP_PROXY,  http_proxy,  ALL_PROXY, all_proxy
//! https:   HTTPS_PROXY, https_proxy, ALL_PROXY, all_proxy     the first that is not empty
//! ```
//!
//! The choice is made here, because ureq asks one proxy for all addresses, whatever they begin with.

use ureq::Proxy;
use ureq::http::Uri;

const BY_SCHEME: [(&str, [&str; 2]); 2] =
    [("http", ["HTTP_PROXY", "http_proxy"]), ("https", ["HTTPS_PROXY", "https_proxy"])];
const FOR_ALL: [&str; 2] = ["ALL_PROXY", "all_proxy"];
const FOR_NONE: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The proxy for an address, by the values of `variable`; `None` if there is none.
///
/// # Errors
/// The variable's value is not the address of a proxy; the sentence says it, without the value, which may have a password.
pub fn proxy_for(
    address: &Uri,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Proxy>, String> {
    let value_of = |name| variable(name).filter(|value| !value.is_empty());
    let of_scheme = BY_SCHEME.iter().find(|(scheme, _)| address.scheme_str() == Some(*scheme));
    let mut names = of_scheme.into_iter().flat_map(|(_, names)| *names).chain(FOR_ALL);
    let Some((name, value)) = names.find_map(|name| Some((name, value_of(name)?))) else {
        return Ok(None);
    };
    if FOR_NONE.into_iter().find_map(value_of).is_some_and(|hosts| is_excepted(address, &hosts)) {
        return Ok(None);
    }
    let wrong = |_| format!("{name} must be the address of a proxy, like http://proxy:3128");
    Proxy::new(&value).map(Some).map_err(wrong)
}

/// True if an address is in a list of hosts: `*`, or hosts, each with all below it, and perhaps with a port.
fn is_excepted(address: &Uri, hosts: &str) -> bool {
    let host = address.host().unwrap_or_default().trim_matches(['[', ']']).to_ascii_lowercase();
    let port = address.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    hosts.split(',').map(|entry| entry.trim().to_ascii_lowercase()).any(|entry| {
        let entry =
            if port.is_empty() { &entry } else { entry.strip_suffix(&port).unwrap_or(&entry) };
        let entry = entry.trim_matches(['[', ']']);
        let domain = entry.trim_start_matches('*').trim_start_matches('.');
        let is_below = || host.strip_suffix(domain).is_some_and(|above| above.ends_with('.'));
        entry == "*" || (!domain.is_empty() && (host == domain || is_below()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The port of the proxy that is chosen with these variables.
    fn chosen(address: &str, variables: &[(&str, &str)]) -> Option<u16> {
        let variable = |name: &str| {
            let value = variables.iter().find(|(known, _)| *known == name)?.1;
            Some(value.to_owned())
        };
        proxy_for(&address.parse().unwrap(), variable).unwrap().map(|proxy| proxy.port())
    }

    const ALL: [(&str, &str); 3] = [
        ("ALL_PROXY", "http://proxy:1"),
        ("HTTP_PROXY", "http://proxy:2"),
        ("HTTPS_PROXY", "http://proxy:3"),
    ];

    #[test]
    fn the_address_chooses_the_proxy() {
        assert_eq!(chosen("http://collector:4318", &ALL), Some(2));
        assert_eq!(chosen("https://collector", &ALL), Some(3));
        assert_eq!(chosen("http://collector", &ALL[..1]), Some(1));
        assert_eq!(chosen("http://collector", &ALL[2..]), None, "of the other scheme");
        assert_eq!(chosen("https://collector", &[("https_proxy", "proxy:9")]), Some(9));
        let empty = [("HTTP_PROXY", ""), ("http_proxy", "http://proxy:5")];
        assert_eq!(chosen("http://collector", &empty), Some(5));
    }

    #[test]
    fn hosts_without_a_proxy_are_reached_directly() {
        let is_direct = |address: &str, hosts: &str| {
            chosen(address, &[("HTTP_PROXY", "http://proxy:2"), ("no_proxy", hosts)]).is_none()
        };
        for hosts in [
            "*",
            "example.org",
            "other, Example.ORG",
            ".example.org",
            "*.org",
            "a.example.org:4318",
        ] {
            assert!(is_direct("http://a.example.org:4318", hosts), "{hosts}");
        }
        for hosts in ["", ",", "ample.org", "b.a.example.org", "a.example.org:4317", "."] {
            assert!(!is_direct("http://a.example.org:4318", hosts), "{hosts}");
        }
        assert!(is_direct("http://[fd00::1]:4318", "[fd00::1]"));
        assert!(is_direct("http://10.0.0.1", "10.0.0.1"));
    }

    #[test]
    fn what_is_no_proxy_is_said_without_its_password() {
        let variable = |name: &str| (name == "HTTP_PROXY").then(|| "ftp://me:secret@x".to_owned());
        let why = proxy_for(&"http://collector".parse().unwrap(), variable).unwrap_err();
        assert!(why.contains("HTTP_PROXY") && !why.contains("secret"), "{why}");
    }
}
