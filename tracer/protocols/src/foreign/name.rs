//! The names of protocols that are not decoded.

use std::fmt;

pub(super) const TLS: &str = "TLS";
pub(super) const HTTP: &str = "HTTP";
pub(super) const WEBSOCKET: &str = "WebSocket";

/// Name for the content of a WebSocket of which only the compression is known.
pub(super) const COMPRESSED: &str = "compressed messages";

/// The name of a protocol that is not decoded, and what is known about the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForeignName {
    /// The protocol: `TLS`, `HTTP/2`, `Redis` …
    pub protocol: &'static str,
    /// The protocol's version, if it was captured.
    pub version: Option<&'static str>,
    /// The server's name that the client requested (TLS SNI, HTTP Host).
    pub server_name: Option<Box<str>>,
    /// The protocol carried inside, if it was announced (TLS ALPN, WebSocket subprotocol).
    pub inside: Option<Box<str>>,
    /// The protocol with which the conversation began before this one: `PostgreSQL` upgrades to TLS.
    pub within: Option<&'static str>,
    /// True if the content is encrypted.
    pub is_encrypted: bool,
}

impl ForeignName {
    /// A name with a version and nothing else.
    pub(crate) fn of(protocol: &'static str, version: Option<&'static str>) -> ForeignName {
        ForeignName { protocol, version, ..ForeignName::default() }
    }

    /// True for TLS.
    pub fn is_tls(&self) -> bool {
        self.protocol == TLS
    }

    /// True for a WebSocket that was joined late and whose messages are compressed.
    pub fn is_compressed_websocket(&self) -> bool {
        self.protocol == WEBSOCKET && self.inside.as_deref() == Some(COMPRESSED)
    }

    /// Adds what the other direction or a later packet shows.
    pub(super) fn learn(&mut self, more: ForeignName) {
        // TLS replaces the protocol that requested the upgrade, and WebSocket replaces HTTP.
        let goes_on = (more.is_encrypted && !self.is_encrypted)
            || (more.protocol == WEBSOCKET && self.protocol == HTTP);
        if goes_on {
            let within = (self.protocol != HTTP).then_some(self.protocol);
            let server_name = self.server_name.take();
            *self = ForeignName { within: within.or(self.within), ..more };
            self.server_name = self.server_name.take().or(server_name);
        } else if more.protocol == self.protocol {
            self.version = more.version.or(self.version);
            self.server_name = self.server_name.take().or(more.server_name);
            self.inside = self.inside.take().or(more.inside);
        }
    }
}

impl fmt::Display for ForeignName {
    /// `TLS 1.3 (SNI broker.example, ALPN mqtt)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(within) = self.within {
            write!(f, "{within} over ")?;
        }
        f.write_str(self.protocol)?;
        if let Some(version) = self.version {
            write!(f, " {version}")?;
        }
        let [name_word, inside_word] =
            if self.protocol == TLS { ["SNI ", "ALPN "] } else { ["host ", "carries "] };
        match (&self.server_name, &self.inside) {
            (Some(name), Some(inside)) => write!(f, " ({name_word}{name}, {inside_word}{inside})"),
            (Some(name), None) => write!(f, " ({name_word}{name})"),
            (None, Some(inside)) => write!(f, " ({inside_word}{inside})"),
            (None, None) => Ok(()),
        }
    }
}

/// A name in a hello or header, if it is printable text of limited length.
pub(super) fn name_text(bytes: &[u8]) -> Option<Box<str>> {
    const LONGEST: usize = 128;
    let text = std::str::from_utf8(bytes).ok()?.trim();
    let fine =
        !text.is_empty() && text.len() <= LONGEST && text.chars().all(|c| c.is_ascii_graphic());
    fine.then(|| text.into())
}
