//! Plain UDP, the baseline without middleware: a message a datagram, one thread.

use anyhow::{Context, Result, bail};
use rustix::net::sockopt;
use std::cell::Cell;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;
use wirelap_contract::{About, LinkTransport, Spec};
use wirelap_harness::clock;
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Facts, Family, Handler, Link, Opened, Outlet};

/// Bytes that an IPv4 packet of 65,535 bytes leaves after the IP and UDP headers.
const MAX_PAYLOAD: usize = 65_507;
/// The receive buffer that is asked for; the kernel gives at most `net.core.rmem_max`.
const RECEIVE_BUFFER: usize = 4 << 20;
/// Interval at which a blocked call looks whether the run is over.
const TICK: Duration = Duration::from_millis(100);

/// The middleware `udp`.
pub struct Udp;

impl Family for Udp {
    fn about(&self) -> About {
        About::new(
            "udp",
            "plain UDP, one message a datagram; the baseline",
            MAX_PAYLOAD,
            &[LinkTransport::Udp],
        )
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        let address = link::resolve(&spec.endpoint)?;
        let socket = if link::listens(spec.role) {
            UdpSocket::bind(address).map_err(|error| link::explain(&error, address))?
        } else {
            connect(address).map_err(|error| link::explain(&error, address))?
        };
        socket.set_read_timeout(Some(TICK)).context("cannot set up the socket")?;
        socket.set_write_timeout(Some(TICK)).context("cannot set up the socket")?;
        sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)
            .context("cannot set the receive buffer")?;
        let endpoint = socket.peer_addr().or_else(|_| socket.local_addr())?;
        let connected = !link::listens(spec.role);
        let wire =
            UdpOutlet { socket, connected, sender: Cell::new(None), control: control.clone() };
        Ok(Box::new(UdpLink { wire, handler, endpoint, buffer: vec![0; MAX_PAYLOAD] }))
    }
}

fn connect(address: SocketAddr) -> std::io::Result<UdpSocket> {
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(address)?;
    Ok(socket)
}

struct UdpLink {
    wire: UdpOutlet,
    handler: Option<Handler>,
    endpoint: SocketAddr,
    buffer: Vec<u8>,
}

struct UdpOutlet {
    socket: UdpSocket,
    connected: bool,
    /// Peer that an unconnected socket answers: the sender of the last datagram.
    sender: Cell<Option<SocketAddr>>,
    control: Control,
}

impl UdpOutlet {
    fn send(&self, payload: &[u8]) -> std::io::Result<usize> {
        match self.sender.get() {
            Some(sender) if !self.connected => self.socket.send_to(payload, sender),
            _ => self.socket.send(payload),
        }
    }
}

impl Outlet for UdpOutlet {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        loop {
            match self.send(payload) {
                Ok(_) => return Ok(()),
                Err(error) if would_block(&error) => {
                    if self.control.interrupted() {
                        bail!("told to stop while the socket was full");
                    }
                }
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    bail!("nobody listens there any more (ICMP port unreachable)")
                }
                Err(error) => return Err(error).context("cannot send"),
            }
        }
    }
}

impl Outlet for UdpLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.wire.publish(payload)
    }
}

impl Link for UdpLink {
    fn facts(&self) -> Facts {
        let size = sockopt::socket_recv_buffer_size(&self.wire.socket).unwrap_or(0);
        Facts::at(self.endpoint).setting("SO_RCVBUF", size)
    }

    fn poll(&mut self, _wait: Duration) -> Result<()> {
        match self.wire.socket.recv_from(&mut self.buffer) {
            Ok((length, sender)) => {
                self.wire.sender.set(Some(sender));
                if let Some(handler) = &self.handler {
                    handler(clock::now(), &self.buffer[..length], &self.wire);
                }
                Ok(())
            }
            Err(error) if would_block(&error) => Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                bail!("nobody listens on {} any more (ICMP port unreachable)", self.endpoint)
            }
            Err(error) => Err(error).context("cannot receive"),
        }
    }

    fn flush(&mut self, _limit: Duration) -> Result<()> {
        // A datagram that the socket took is on its way.
        Ok(())
    }
}

fn would_block(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
