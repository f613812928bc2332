//! Key logs: the secrets of connections, as NSS, OpenSSL, Go and others write them (`SSLKEYLOGFILE`; RFC 9850).
//!
//! ```text
//! label                            client's random number   secret
//! CLIENT_RANDOM                    64 hexadecimal digits    96 digits (TLS 1.2: the master secret)
//! CLIENT_HANDSHAKE_TRAFFIC_SECRET  64                       64 or 96  (TLS 1.3)
//! SERVER_HANDSHAKE_TRAFFIC_SECRET, CLIENT_TRAFFIC_SECRET_0, SERVER_TRAFFIC_SECRET_0
//! ```

use crate::role::TlsRole;
use std::collections::HashMap;
use std::fmt;
use wirelap_events::Saturate;

/// The most connections whose secrets are kept.
const MAX_CONNECTIONS: usize = 1 << 18;

/// The most bytes of a secret: those of a SHA-384, and of a master secret.
const MAX_SECRET: usize = 48;

/// The random number in a client's hello, by which its connection is found in a key log.
pub type Random = [u8; 32];

/// A secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret {
    bytes: [u8; MAX_SECRET],
    len: u8,
}

impl Secret {
    /// These bytes; `None` if they are too many.
    pub fn new(bytes: &[u8]) -> Option<Secret> {
        let mut secret = Secret { bytes: [0; MAX_SECRET], len: u8::try_from(bytes.len()).ok()? };
        secret.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(secret)
    }

    /// Bytes of the secret.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// Says nothing of the secret.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.len)
    }
}

/// The secrets of one connection, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    /// TLS 1.2: the master secret.
    pub master: Option<Secret>,
    handshake: [Option<Secret>; 2],
    traffic: [Option<Secret>; 2],
}

impl Secrets {
    /// TLS 1.3: what the rest of the handshake is encrypted with that this end sends.
    pub fn handshake(&self, role: TlsRole) -> Option<Secret> {
        self.handshake[role as usize]
    }

    /// TLS 1.3: what the first application data is encrypted with that this end sends.
    pub fn traffic(&self, role: TlsRole) -> Option<Secret> {
        self.traffic[role as usize]
    }

    /// The place for a secret with this label; `None` if it is not used here.
    fn place(&mut self, label: &[u8]) -> Option<&mut Option<Secret>> {
        let (client, server) = (TlsRole::Client as usize, TlsRole::Server as usize);
        Some(match label {
            b"CLIENT_RANDOM" => &mut self.master,
            b"CLIENT_HANDSHAKE_TRAFFIC_SECRET" => &mut self.handshake[client],
            b"SERVER_HANDSHAKE_TRAFFIC_SECRET" => &mut self.handshake[server],
            b"CLIENT_TRAFFIC_SECRET_0" => &mut self.traffic[client],
            b"SERVER_TRAFFIC_SECRET_0" => &mut self.traffic[server],
            _ => return None,
        })
    }
}

/// Counts of what a text added to a key log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddedSecrets {
    /// Secrets that can be used.
    pub secrets: u64,
    /// Lines that are none of a key log.
    pub unreadable: u64,
    /// Secrets of connections that there was no room for.
    pub left_out: u64,
}

/// The secrets of many connections.
#[derive(Clone, Debug, Default)]
pub struct KeyLog {
    connections: HashMap<Random, Box<Secrets>>,
}

impl KeyLog {
    /// Adds the lines of a text.
    pub fn add(&mut self, text: &[u8]) -> AddedSecrets {
        let mut added = AddedSecrets::default();
        for line in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            match KeyLogLine::read(line) {
                None => added.unreadable.grow(1),
                Some(line) => self.add_line(&line, &mut added),
            }
        }
        added
    }

    fn add_line(&mut self, line: &KeyLogLine<'_>, added: &mut AddedSecrets) {
        let is_new = !self.connections.contains_key(&line.random);
        if Secrets::default().place(line.label).is_none() {
            return;
        }
        if is_new && self.connections.len() >= MAX_CONNECTIONS {
            added.left_out.grow(1);
            return;
        }
        let secrets = self.connections.entry(line.random).or_default();
        if let Some(place) = secrets.place(line.label) {
            *place = Some(line.secret);
            added.secrets.grow(1);
        }
    }

    /// True if there is no secret at all.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// The secrets of the connection whose client has sent this number.
    pub fn find(&self, random: &Random) -> Option<&Secrets> {
        self.connections.get(random).map(|secrets| &**secrets)
    }
}

/// A line of a key log.
struct KeyLogLine<'a> {
    label: &'a [u8],
    random: Random,
    secret: Secret,
}

impl<'a> KeyLogLine<'a> {
    /// `None` for what is no line of a key log. Of labels that are not used here, secrets may be longer, or be something else.
    fn read(line: &'a [u8]) -> Option<KeyLogLine<'a>> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let (label, random, secret) = (words.next()?, words.next()?, words.next()?);
        let is_label = label.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        if !is_label || words.next().is_some() {
            return None;
        }
        if Secrets::default().place(label).is_none() {
            return Some(KeyLogLine { label, random: [0; 32], secret: Secret::new(&[])? });
        }
        let mut bytes = [0; MAX_SECRET];
        let secret = Secret::new(hex(secret, &mut bytes)?)?;
        let mut number = [0; 32];
        let is_whole = hex(random, &mut number)?.len() == number.len();
        (is_whole && secret.len > 0).then_some(KeyLogLine { label, random: number, secret })
    }
}

/// The bytes that these digits are; `None` if they are not all digits, or too many.
fn hex<'a>(digits: &[u8], into: &'a mut [u8]) -> Option<&'a [u8]> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let into = into.get_mut(..digits.len() / 2)?;
    for (byte, pair) in into.iter_mut().zip(digits.chunks_exact(2)) {
        let pair = str::from_utf8(pair).ok().filter(|pair| !pair.starts_with('+'))?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(label: &str, random: u8, secret: &str) -> String {
        format!("{label} {} {secret}\n", format!("{random:02x}").repeat(32))
    }

    #[test]
    fn secrets_are_found_by_the_random_number() {
        let mut log = KeyLog::default();
        let text = ["# a comment\r\n\r\n".to_owned()]
            .into_iter()
            .chain([
                line("CLIENT_RANDOM", 0xAB, &"0F".repeat(48)),
                line("CLIENT_TRAFFIC_SECRET_0", 2, &"1e".repeat(32)),
                line("SERVER_HANDSHAKE_TRAFFIC_SECRET", 2, &"2d".repeat(48)),
                line("EXPORTER_SECRET", 2, &"2d".repeat(90)),
                "RSA 0123456789abcdef 00\n".to_owned(),
            ])
            .collect::<String>();
        assert_eq!(
            log.add(text.as_bytes()),
            AddedSecrets { secrets: 3, ..AddedSecrets::default() }
        );
        let master = log.find(&[0xAB; 32]).unwrap().master.unwrap();
        assert_eq!(master.bytes(), [15; 48]);
        let found = log.find(&[2; 32]).unwrap();
        assert_eq!(found.traffic(TlsRole::Client).unwrap().bytes(), [0x1E; 32]);
        assert_eq!(found.handshake(TlsRole::Server).unwrap().bytes(), [0x2D; 48]);
        assert_eq!((found.master, found.traffic(TlsRole::Server)), (None, None));
        assert_eq!(log.find(&[3; 32]), None);
    }

    #[test]
    fn what_is_no_line_is_counted() {
        let mut log = KeyLog::default();
        let whole = line("CLIENT_RANDOM", 1, &"00".repeat(48));
        for text in [
            line("CLIENT_RANDOM", 1, "zz"),
            line("CLIENT_RANDOM", 1, "123"),
            line("CLIENT_RANDOM", 1, "+1"),
            line("CLIENT_RANDOM", 1, &"00".repeat(49)),
            line("CLIENT_RANDOM", 1, "00 00"),
            "CLIENT_RANDOM 00 00".to_owned(),
            "<html> 00 00".to_owned(),
            "nothing".to_owned(),
            whole[..60].to_owned(),
        ] {
            let added = log.add(text.as_bytes());
            assert_eq!(added, AddedSecrets { unreadable: 1, ..AddedSecrets::default() }, "{text}");
        }
        assert!(log.is_empty());
        assert!(!format!("{:?}", Secret::new(&[7; 32])).contains('7'));
    }
}
