//! TLS (RFC 8446 §5.1, §4.1; extensions: RFC 6066 §3, RFC 7301 §3.1).
//!
//! ```text
//! record     | type, 20..23 | 3 | minor | length u16 | …
//! handshake  | type | length u24 | version u16 | random, 32 | session id | … | extensions
//! ```
//!
//! A record's version says little: 1.3 is agreed in the server's extension `supported_versions`.

use super::name::{ForeignName, TLS, name_text};
use crate::Reader;
use crate::tls_record::{HANDSHAKE, LONGEST_RECORD, strict_len};
use wirelap_events::{Count, SmallCount};

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;

const SERVER_NAME: u16 = 0;
const ALPN: u16 = 16;
const SUPPORTED_VERSIONS: u16 = 43;

/// So many records one after the other are no coincidence.
const ENOUGH_RECORDS: u32 = 3;

fn version_name(version: u16) -> Option<&'static str> {
    Some(match version {
        0x0301 => "1.0",
        0x0302 => "1.1",
        0x0303 => "1.2",
        0x0304 => "1.3",
        _ => return None,
    })
}

/// A hello at the front of `head`.
pub fn hello(head: &[u8]) -> Option<ForeignName> {
    let mut reader = Reader::new(head);
    let is_record = reader.u8()? == HANDSHAKE && reader.u8()? == 3 && reader.u8()? <= 4;
    let record = reader.u16_be().filter(|len| is_record && (4..=LONGEST_RECORD).contains(len))?;
    let kind = reader.u8()?;
    let len = u32::from(reader.u8()?) << 16 | u32::from(reader.u16_be()?);
    let version = reader.u16_be()?;
    let is_hello = matches!(kind, CLIENT_HELLO | SERVER_HELLO)
        && version >> 8 == 3
        && (38..=1 << 16).contains(&len)
        && (len.saturating_add(4) <= record.into() || record > 1024);
    let mut name = is_hello.then(|| ForeignName {
        is_encrypted: true,
        version: (kind == SERVER_HELLO).then(|| version_name(version)).flatten(),
        ..ForeignName::of(TLS, None)
    })?;
    // A hello that is cut still is one.
    let _ = extensions(&mut reader, kind == CLIENT_HELLO, &mut name);
    Some(name)
}

fn extensions(reader: &mut Reader<'_>, by_client: bool, name: &mut ForeignName) -> Option<()> {
    reader.skip(32)?;
    let session = reader.u8()?;
    reader.skip(session.into())?;
    if by_client {
        let suites = reader.u16_be()?;
        reader.skip(suites.into())?;
        let compressions = reader.u8()?;
        reader.skip(compressions.into())?;
    } else {
        reader.skip(3)?;
    }
    reader.u16_be()?;
    loop {
        let (kind, len) = (reader.u16_be()?, reader.u16_be()?);
        let mut body = Reader::new(reader.take(len.into())?);
        match kind {
            SERVER_NAME if by_client => {
                body.skip(3);
                let len = body.u16_be().unwrap_or(0);
                name.server_name = body.take(len.into()).and_then(name_text);
            }
            ALPN => {
                body.skip(2);
                let len = body.u8().unwrap_or(0);
                name.inside = body.take(len.into()).and_then(name_text);
            }
            SUPPORTED_VERSIONS if !by_client => {
                name.version = body.u16_be().and_then(version_name).or(name.version);
            }
            _ => {}
        }
    }
}

/// Records of a conversation that was joined late, over the packets of one direction.
#[derive(Debug, Default)]
pub(super) struct LateRecords {
    /// Bytes of the record that is open.
    left: u64,
    found: SmallCount,
}

impl LateRecords {
    /// The next packet. Records that follow each other, or fit the packets, name it.
    pub fn packet(&mut self, bytes: &[u8], missing: u64) -> Option<ForeignName> {
        let len = bytes.len() as u64;
        let end = Count(len) + missing;
        let mut at = Count(self.left);
        if self.found == 0 {
            at = Count(0);
        }
        while at < len {
            let rest =
                usize::try_from(at.0).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
            let Some(record) = strict_len(rest) else {
                // A record's first bytes at a packet's end contradict nothing.
                let is_cut = rest.len() < 5 && rest.first().is_some_and(|b| (20..=23).contains(b));
                *self =
                    LateRecords { left: 0, found: if is_cut { self.found } else { SmallCount(0) } };
                return None;
            };
            self.found += 1;
            at += record;
        }
        self.left = (at - end).0;
        if at < end {
            // Where the next one starts was not captured: packets start with one, or the count starts anew.
            self.left = 0;
        } else if at == end {
            self.found += 1;
        }
        let name = ForeignName { is_encrypted: true, ..ForeignName::of(TLS, None) };
        (self.found >= ENOUGH_RECORDS).then_some(name)
    }
}
