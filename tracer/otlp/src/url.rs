//! The address of a Collector.

use std::str::FromStr;
use ureq::http::Uri;

/// The paths of OTLP over HTTP, below the address of a Collector.
pub const TRACES: &str = "/v1/traces";
pub const METRICS: &str = "/v1/metrics";

/// The address of a Collector: `http://127.0.0.1:4318`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorUrl {
    base: String,
}

impl FromStr for CollectorUrl {
    type Err = String;

    /// The path may be that of traces, too, from which that of metrics follows.
    fn from_str(text: &str) -> Result<CollectorUrl, String> {
        let wrong = |what: &str| {
            format!(
                "{what}: the address of a Collector is like http://127.0.0.1:4318 or https://otlp.example.org"
            )
        };
        let uri: Uri = text.parse().map_err(|_| wrong("no URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong("no http:// or https:// at the beginning"));
        }
        if uri.host().is_none_or(str::is_empty) {
            return Err(wrong("no host"));
        }
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            return Err(wrong(
                "passwords do not belong into a URL, but into OTEL_EXPORTER_OTLP_HEADERS",
            ));
        }
        if authority.strip_prefix(uri.host().unwrap_or_default()) != Some("")
            && uri.port_u16().is_none_or(|port| port == 0)
        {
            return Err(wrong("no port that there is"));
        }
        if uri.query().is_some() || text.contains('#') {
            return Err(wrong("nothing may follow the path"));
        }
        let base = text.trim_end_matches('/');
        let base = base.strip_suffix(TRACES).unwrap_or(base).trim_end_matches('/');
        Ok(CollectorUrl { base: base.to_owned() })
    }
}

impl CollectorUrl {
    /// The address of a path of OTLP.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// The address as users know it.
    pub fn shown(&self) -> &str {
        &self.base
    }

    /// The address in its parts.
    pub fn uri(&self) -> Option<Uri> {
        self.base.parse().ok()
    }

    /// True if the Collector is on this host, to which no proxy leads.
    pub fn is_here(&self) -> bool {
        let uri = self.uri();
        let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_a_collector_with_or_without_the_path_of_traces() {
        for text in ["http://[::1]:4318", "http://[::1]:4318/", "http://[::1]:4318/v1/traces"] {
            let url: CollectorUrl = text.parse().unwrap();
            assert_eq!(url.at(METRICS), "http://[::1]:4318/v1/metrics");
            assert!(url.is_here());
        }
        let url: CollectorUrl = "https://example.org/otlp".parse().unwrap();
        assert_eq!(
            (url.at(TRACES).as_str(), url.is_here()),
            ("https://example.org/otlp/v1/traces", false)
        );
    }

    #[test]
    fn anything_else_is_refused_in_one_sentence() {
        let wrong = [
            "",
            "127.0.0.1:4318",
            "collector",
            "grpc://host:4317",
            "http://",
            "http:///v1/traces",
            "https://:443",
            "http://a b",
            "http://me:secret@host",
            "http://host?key=1",
            "http://host/#x",
            "http://host:notaport",
            "http://host:0",
            "http://host:70000",
            "http://host:",
        ];
        for text in wrong {
            let why = text.parse::<CollectorUrl>().unwrap_err();
            assert!(why.contains("http://127.0.0.1:4318") && !why.contains('\n'), "{text}: {why}");
            assert!(!why.contains("secret"));
        }
    }
}
