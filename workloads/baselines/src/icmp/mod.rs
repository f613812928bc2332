//! ICMP echo (`ping`), the baseline below all transports: the kernel answers, no process does. The socket is our
//! own, so round trips are measured by the same clock and driver as everyone else's.

mod echo;
mod socket;

use anyhow::{Context, Result, anyhow, bail};
use echo::Echo;
use socket::{Open, SocketKind};
use std::cell::{Cell, RefCell};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use wirelap_contract::{About, Availability, Role, STAMP_BYTES, Spec, Stamp, WorkloadKind};
use wirelap_harness::clock;
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Facts, Family, Handler, Link, Opened, Outlet};

/// Bytes that an IPv4 packet of 65,535 bytes leaves after the IP and ICMP headers.
const MAX_PAYLOAD: usize = 65_507;
/// The longest packet that can come: a raw IPv4 socket delivers the IP header too.
const MAX_PACKET: usize = 65_535;
const REMEDY: &str = "sysctl -w net.ipv4.ping_group_range='0 2147483647' (as root) lets programs without privileges ping";

/// The middleware `ping`.
pub struct Icmp;

impl Family for Icmp {
    fn about(&self) -> About {
        let mut about = About::new("ping", "ICMP echo, the kernel answers", MAX_PAYLOAD, &[]);
        about.roles = vec![Role::Ping];
        about.kind = WorkloadKind::Untraced;
        if let Err(error) = socket::open(IpAddr::V4(Ipv4Addr::LOCALHOST)) {
            let remedy =
                if is_denied(&error) { REMEDY.into() } else { format!("no ICMP socket: {error}") };
            about.available = Availability::Missing { remedy };
        }
        about
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        let target = link::resolve(&spec.endpoint)?.ip();
        let open = socket::open(target).map_err(refused)?;
        let echo = Echo::new(target, open.identifier);
        let wire = IcmpOutlet {
            open,
            echo,
            target,
            sequence: Cell::default(),
            packet: RefCell::default(),
        };
        let buffer = vec![0; MAX_PACKET];
        Ok(Box::new(IcmpLink { wire, handler, buffer, control: control.clone() }))
    }
}

fn refused(error: std::io::Error) -> anyhow::Error {
    if is_denied(&error) {
        return anyhow!("no ICMP socket may be opened: {REMEDY}");
    }
    anyhow::Error::from(error).context("cannot open an ICMP socket")
}

fn is_denied(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied
}

struct IcmpLink {
    wire: IcmpOutlet,
    handler: Option<Handler>,
    buffer: Vec<u8>,
    control: Control,
}

/// The sending half.
struct IcmpOutlet {
    open: Open,
    echo: Echo,
    target: IpAddr,
    sequence: Cell<u16>,
    packet: RefCell<Vec<u8>>,
}

impl Outlet for IcmpOutlet {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        let mut packet = self.packet.borrow_mut();
        self.echo.request(self.sequence.get(), payload, &mut packet);
        self.sequence.set(self.sequence.get().wrapping_add(1));
        let sent = self.open.socket.send(&packet).context("cannot send")?;
        if sent < packet.len() {
            bail!("the kernel took {sent} of {} bytes", packet.len());
        }
        Ok(())
    }
}

impl Outlet for IcmpLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        loop {
            match self.wire.publish(payload) {
                Err(error) if is_full(&error) && !self.control.interrupted() => {}
                result => return result,
            }
        }
    }
}

impl Link for IcmpLink {
    fn facts(&self) -> Facts {
        let sort = match self.wire.open.sort {
            SocketKind::Datagram => "SOCK_DGRAM",
            SocketKind::Raw => "SOCK_RAW",
        };
        Facts::at(self.wire.target).setting("socket", sort)
    }

    fn poll(&mut self, _wait: Duration) -> Result<()> {
        let length = match self.wire.open.socket.recv(&mut self.buffer) {
            Ok(length) => length,
            Err(error) if would_block(&error) => return Ok(()),
            Err(error) => return Err(error).context("cannot receive"),
        };
        let at = clock::now();
        let packet = &mut self.buffer[..length];
        let with_ip_header = self.wire.open.sort == SocketKind::Raw && self.wire.target.is_ipv4();
        let Some(payload) = self.wire.echo.reply(packet, with_ip_header) else { return Ok(()) };
        // The kernel sends back what it got: that it is the reply is known from the packet's type.
        let Some(stamp) = Stamp::decode(payload) else { return Ok(()) };
        payload[..STAMP_BYTES].copy_from_slice(&Stamp { reply: true, ..stamp }.encode());
        if let Some(handler) = &self.handler {
            handler(at, payload, &self.wire);
        }
        Ok(())
    }

    fn flush(&mut self, _limit: Duration) -> Result<()> {
        // What the socket took is on its way.
        Ok(())
    }
}

fn would_block(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn is_full(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(would_block)
}
