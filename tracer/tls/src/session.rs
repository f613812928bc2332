//! Both directions of a connection.

use crate::direction::{Coming, DirectionRecords, FoundContent, TlsDirection};
use crate::hello::{Hello, ServerHello};
use crate::key_log::{KeyLog, Random, Secrets};
use crate::role::TlsRole;
use crate::schedule;
use crate::suite::Suite;
use wirelap_events::{ByteRange, Offset, Size};

/// Records that nothing opens until the connection is given up.
const MAX_FAILED: u64 = 32;

const TLS12: u16 = 0x0303;
const TLS13: u16 = 0x0304;

/// Content of one or several records of one direction, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenedRecords<'a> {
    /// Range in the direction's bytes: of a record, its header included, or of several of which nothing is known.
    pub range: ByteRange,
    /// Content of the range.
    pub content: OpenedContent<'a>,
}

/// Content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenedContent<'a> {
    /// Text of the application.
    Text(&'a [u8]),
    /// A record that does not authenticate, or of which bytes are missing.
    Unread {
        /// The most bytes of text that it can have.
        at_most: u64,
    },
    /// Bytes in which it is not known where records begin.
    Lost,
}

/// Why a connection cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecryptionObstacle {
    /// The connection has agreed on a version or cipher suite that is not read.
    Cipher,
    /// The server's hello is missing.
    Handshake,
    /// No record authenticates with the secrets, or there are none of this version.
    Keys,
}

/// A connection whose secrets are known.
#[derive(Debug)]
pub struct TlsSession {
    directions: [TlsDirection; 2],
    state: Handshake,
}

/// State of a handshake, from the hello messages.
#[derive(Debug)]
struct Handshake {
    client: Random,
    secrets: Secrets,
    has_server_hello: bool,
    obstacle: Option<DecryptionObstacle>,
}

impl TlsSession {
    /// A connection whose client sends this number in its hello, which comes first.
    pub fn new(client: Random, secrets: Secrets) -> TlsSession {
        let state = Handshake { client, secrets, has_server_hello: false, obstacle: None };
        TlsSession { directions: Default::default(), state }
    }

    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> Size {
        let [client, server] = &self.directions;
        Size::of::<TlsSession>(1) + client.held_bytes() + server.held_bytes()
    }

    /// Why nothing was read, and nothing will be.
    pub fn obstacle(&self) -> Option<DecryptionObstacle> {
        let [client, server] = &self.directions;
        let opened = client.records.opened + server.records.opened;
        let failed = client.records.failed + server.records.failed;
        if opened > 0 {
            return None;
        }
        let is_hopeless = failed >= MAX_FAILED;
        let why = if self.state.has_server_hello {
            DecryptionObstacle::Keys
        } else {
            DecryptionObstacle::Handshake
        };
        self.state.obstacle.or(is_hopeless.then_some(why))
    }

    /// The next bytes of one direction, of which the first is at `at`. `log` has the secrets of further handshakes, and
    /// `scratch` is any buffer.
    pub fn feed(
        &mut self,
        from: TlsRole,
        at: Offset,
        bytes: &[u8],
        (log, scratch): (&KeyLog, &mut Vec<u8>),
        out: &mut dyn FnMut(OpenedRecords<'_>),
    ) {
        let (direction, mut sink) = self.split(from, log, out);
        direction.feed(at, bytes, scratch, &mut |records, found| sink.take(records, found));
    }

    /// Bytes of one direction that will never come.
    pub fn gap(
        &mut self,
        from: TlsRole,
        at: Offset,
        len: u64,
        (log, scratch): (&KeyLog, &mut Vec<u8>),
        out: &mut dyn FnMut(OpenedRecords<'_>),
    ) {
        let (direction, mut sink) = self.split(from, log, out);
        direction.gap(at, len, scratch, &mut |records, found| sink.take(records, found));
    }

    fn split<'s>(
        &'s mut self,
        from: TlsRole,
        log: &'s KeyLog,
        out: &'s mut dyn FnMut(OpenedRecords<'_>),
    ) -> (&'s mut TlsDirection, Sink<'s>) {
        let [client, server] = &mut self.directions;
        let (direction, other) = match from {
            TlsRole::Client => (client, server),
            TlsRole::Server => (server, client),
        };
        let other = &mut other.records;
        (direction, Sink { from, other, state: &mut self.state, log, out })
    }
}

/// Takes what is found in one direction.
struct Sink<'s> {
    from: TlsRole,
    /// The records of the other direction.
    other: &'s mut DirectionRecords,
    state: &'s mut Handshake,
    log: &'s KeyLog,
    out: &'s mut dyn FnMut(OpenedRecords<'_>),
}

impl Sink<'_> {
    fn take(&mut self, records: &mut DirectionRecords, found: FoundContent<'_>) {
        let (range, content) = match found {
            FoundContent::Text { record, text } => (record, OpenedContent::Text(text)),
            FoundContent::Unread { range, at_most, is_record: true } => {
                (range, OpenedContent::Unread { at_most })
            }
            FoundContent::Unread { range, .. } => (range, OpenedContent::Lost),
            FoundContent::Hello(Hello::Client(random)) => return self.client(random),
            FoundContent::Hello(Hello::Server(hello)) => return self.server(&hello, records),
        };
        (self.out)(OpenedRecords { range, content });
    }

    /// A client's hello: the first one, a second one that the server asked for, or that of another handshake.
    fn client(&mut self, random: Random) {
        if random != self.state.client {
            self.state.client = random;
            self.state.secrets = self.log.find(&random).copied().unwrap_or_default();
        }
    }

    /// The server's hello says what keys are made of.
    fn server(&mut self, hello: &ServerHello, records: &mut DirectionRecords) {
        self.state.has_server_hello = true;
        let coming = match self.state.coming(hello) {
            Ok(coming) => coming,
            Err(obstacle) => {
                self.state.obstacle = Some(obstacle);
                return;
            }
        };
        let [client, server] = coming;
        let (own, other) =
            if self.from == TlsRole::Server { (server, client) } else { (client, server) };
        records.coming = own;
        self.other.coming = other;
    }
}

impl Handshake {
    /// The keys of client and server.
    fn coming(&self, hello: &ServerHello) -> Result<[Coming; 2], DecryptionObstacle> {
        let secrets = &self.secrets;
        match hello.version {
            TLS13 => {
                let suite = Suite::of_tls13(hello.suite).ok_or(DecryptionObstacle::Cipher)?;
                let of = |role| (secrets.handshake(role), secrets.traffic(role));
                let all = [of(TlsRole::Client), of(TlsRole::Server)];
                if all.iter().all(|(_, traffic)| traffic.is_none()) {
                    return Err(DecryptionObstacle::Keys);
                }
                Ok(all.map(|(handshake, traffic)| Coming::Tls13 { suite, handshake, traffic }))
            }
            TLS12 if !hello.is_compressed => {
                let suite = Suite::of_tls12(hello.suite).ok_or(DecryptionObstacle::Cipher)?;
                let master = secrets.master.ok_or(DecryptionObstacle::Keys)?;
                let (client, server) = (&self.client, &hello.random);
                let keys = schedule::tls12_keys(suite, hello.order, &master, client, server);
                Ok(keys.map(Coming::Agreed))
            }
            _ => Err(DecryptionObstacle::Cipher),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
