//! Plain TCP, the baseline without middleware. Blocking sockets, one thread, one connection at a time.
//!
//! ```text
//! +-------------------------------+------------------+
//! | length of the payload, u32 BE | payload          |
//! +-------------------------------+------------------+
//! ```

mod frames;

use anyhow::{Context, Result, bail};
use frames::ReadFrames;
use std::io::{ErrorKind, IoSlice, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;
use wirelap_contract::{About, LinkTransport, Spec};
use wirelap_harness::clock;
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Facts, Family, Handler, Link, Opened, Outlet};

/// Longest frame that a listener accepts: garbage is not taken for a length of gigabytes.
const MAX_FRAME: usize = 64 << 20;
/// Interval at which a blocked call looks whether the run is over.
const TICK: Duration = Duration::from_millis(100);

/// The middleware `tcp`.
pub struct Tcp;

impl Family for Tcp {
    fn about(&self) -> About {
        About::new(
            "tcp",
            "plain TCP, length-prefixed messages; the baseline",
            MAX_FRAME,
            &[LinkTransport::Tcp],
        )
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        let address = link::resolve(&spec.endpoint)?;
        let mut link = TcpLink {
            listener: None,
            peer: None,
            handler,
            endpoint: address,
            nodelay: spec.nodelay,
            control: control.clone(),
        };
        if link::listens(spec.role) {
            let listener =
                TcpListener::bind(address).map_err(|error| link::explain(&error, address))?;
            listener.set_nonblocking(true).context("cannot listen")?;
            link.endpoint = listener.local_addr().context("cannot listen")?;
            link.listener = Some(listener);
        } else {
            let stream =
                TcpStream::connect(address).map_err(|error| link::explain(&error, address))?;
            link.adopt(stream)?;
        }
        Ok(Box::new(link))
    }
}

struct TcpLink {
    /// Non-blocking; `None` if this end connects.
    listener: Option<TcpListener>,
    peer: Option<TcpPeer>,
    handler: Option<Handler>,
    endpoint: SocketAddr,
    nodelay: bool,
    control: Control,
}

/// A connection and what was read of its next frame.
struct TcpPeer {
    wire: TcpOutlet,
    frames: ReadFrames,
}

/// The sending half.
struct TcpOutlet {
    stream: TcpStream,
    control: Control,
}

impl TcpLink {
    fn adopt(&mut self, stream: TcpStream) -> Result<()> {
        let set = |stream: &TcpStream| {
            stream.set_nonblocking(false)?;
            stream.set_nodelay(self.nodelay)?;
            stream.set_read_timeout(Some(TICK))?;
            stream.set_write_timeout(Some(TICK))
        };
        set(&stream).context("cannot set up the connection")?;
        let wire = TcpOutlet { stream, control: self.control.clone() };
        self.peer = Some(TcpPeer { wire, frames: ReadFrames::new(MAX_FRAME) });
        Ok(())
    }

    /// Takes the next connection if there is one.
    fn accept(&mut self, wait: Duration) -> Result<()> {
        let Some(listener) = &self.listener else {
            bail!("{} closed the connection", self.endpoint);
        };
        match listener.accept() {
            Ok((stream, _)) => self.adopt(stream),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                // Nothing is measured before there is a connection.
                thread::park_timeout(wait.min(Duration::from_millis(2)));
                Ok(())
            }
            Err(error) => Err(error).context("cannot accept a connection"),
        }
    }
}

impl Outlet for TcpLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        match &self.peer {
            Some(peer) => peer.wire.publish(payload),
            None => bail!("there is no connection"),
        }
    }
}

impl Link for TcpLink {
    fn facts(&self) -> Facts {
        Facts::at(self.endpoint).setting("TCP_NODELAY", self.nodelay)
    }

    fn poll(&mut self, wait: Duration) -> Result<()> {
        let Some(TcpPeer { wire, frames }) = &mut self.peer else {
            return self.accept(wait);
        };
        let open = match frames.read(&mut &wire.stream) {
            Ok(open) => open,
            Err(error) if would_block(&error) => true,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => return Err(error).context("cannot read from the connection"),
        };
        let handled = frames.drain(|payload| {
            if let Some(handler) = &self.handler {
                handler(clock::now(), payload, wire);
            }
        });
        if let Err(length) = handled {
            eprintln!(
                "wirelap-workload: dropped a connection that announced a message of {length} bytes"
            );
        }
        if !open || handled.is_err() {
            self.peer = None;
            if self.listener.is_none() {
                bail!("{} closed the connection", self.endpoint);
            }
        }
        Ok(())
    }

    fn flush(&mut self, _limit: Duration) -> Result<()> {
        // The kernel has it, and sends it also after the process has ended.
        Ok(())
    }
}

impl Outlet for TcpOutlet {
    /// Header and payload in one call, in as many parts as the socket's buffer makes of them.
    fn publish(&self, payload: &[u8]) -> Result<()> {
        let length = u32::try_from(payload.len()).context("too long for a frame")?.to_be_bytes();
        let mut parts = [IoSlice::new(&length), IoSlice::new(payload)];
        let mut left = &mut parts[..];
        while !left.is_empty() {
            match (&self.stream).write_vectored(left) {
                Ok(written) => IoSlice::advance_slices(&mut left, written),
                Err(error) if would_block(&error) => {
                    if self.control.interrupted() {
                        bail!("told to stop in the middle of a message");
                    }
                }
                Err(error) => return Err(error).context("the connection is lost"),
            }
        }
        Ok(())
    }
}

fn would_block(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
