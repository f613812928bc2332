//! Opening a session, and saying why it could not be opened.

use anyhow::{Context, Result, anyhow};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use wirelap_contract::LinkTransport;
use wirelap_harness::link;
use wirelap_harness::own_sockets;
use zenoh::{Config, Session, Wait};

/// Way in which the connection is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectMode {
    Listen,
    Connect,
}

/// Options for opening a session. Everything that is not here is the library's default.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// `peer`, `client` or `router`.
    pub mode: &'static str,
    pub side: ConnectMode,
    pub transport: LinkTransport,
    pub address: SocketAddr,
    /// True if a router stamps messages with its time.
    pub timestamping: bool,
}

impl Opening {
    /// Opens it. A session that listens has its socket when this returns, and one that connects its peer.
    pub fn open(&self) -> Result<Session> {
        let session = zenoh::open(self.config()?).wait();
        session.map_err(|error| self.explain(&error))
    }

    /// Address at which a session listens: Zenoh's stable interface does not tell which port was chosen.
    pub fn listening(&self) -> Result<SocketAddr> {
        if self.address.port() != 0 {
            return Ok(self.address);
        }
        let found = match self.transport {
            LinkTransport::Tcp => own_sockets::listening(),
            LinkTransport::Udp => own_sockets::datagram(),
        };
        let found =
            found.context("cannot tell the port that was chosen: give one in --endpoint")?;
        let address = found.first().map(|waiting| waiting.address);
        address.context("cannot tell the port that was chosen: give one in --endpoint")
    }

    fn config(&self) -> Result<Config> {
        let mut config = Config::default();
        for (key, value) in self.settings() {
            config
                .insert_json5(&key, &value)
                .map_err(|error| anyhow!("Zenoh does not take {key} = {value}: {error}"))?;
        }
        Ok(config)
    }

    fn settings(&self) -> Vec<(String, String)> {
        let (here, other) = match self.side {
            ConnectMode::Listen => ("listen", "connect"),
            ConnectMode::Connect => ("connect", "listen"),
        };
        let endpoint = format!("[\"{}/{}\"]", name(self.transport), self.address);
        let mut settings = vec![
            ("mode".to_owned(), format!("\"{}\"", self.mode)),
            ("scouting/multicast/enabled".into(), "false".into()),
            ("scouting/gossip/enabled".into(), "false".into()),
            (format!("{here}/endpoints"), endpoint),
            (format!("{other}/endpoints"), "[]".into()),
            // Fail at once instead of trying again for ever.
            (format!("{here}/timeout_ms"), "0".into()),
            (format!("{here}/exit_on_failure"), "true".into()),
        ];
        if self.mode == "router" {
            settings.push(("timestamping/enabled".into(), self.timestamping.to_string()));
        }
        settings
    }

    /// Zenoh's own words are a chain of source locations.
    fn explain(&self, error: &zenoh::Error) -> anyhow::Error {
        if self.side == ConnectMode::Connect {
            return anyhow!("nobody listens on {}/{}", name(self.transport), self.address);
        }
        let bound = match self.transport {
            LinkTransport::Tcp => TcpListener::bind(self.address).map(drop),
            LinkTransport::Udp => UdpSocket::bind(self.address).map(drop),
        };
        match bound {
            Err(error) => link::explain(&error, self.address),
            Ok(()) => anyhow!("cannot open a Zenoh session: {error}"),
        }
    }
}

/// As a locator begins.
pub fn name(transport: LinkTransport) -> &'static str {
    match transport {
        LinkTransport::Tcp => "tcp",
        LinkTransport::Udp => "udp",
    }
}
