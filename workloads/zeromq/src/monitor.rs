//! Monitor of libzmq's work behind its sockets: it connects, and connects again, without a word. The monitor tells
//! (`zmq_socket_monitor(3)`).

use anyhow::{Context as _, Result};
use zmq::{Context, DONTWAIT, PAIR, Socket, SocketEvent};

/// The monitor of a socket.
pub struct Monitor(Socket);

/// State of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MonitorState {
    /// On its way.
    #[default]
    Begun,
    /// The first attempt failed.
    Refused,
    /// Both ends have introduced themselves.
    Open,
    /// The connection was open, and is no more.
    Lost,
    /// The other end speaks something else.
    Foreign,
}

const NAME: &str = "inproc://monitor";

impl Monitor {
    /// Watches `socket`. To be called before it connects.
    pub fn of(context: &Context, socket: &Socket) -> Result<Monitor> {
        let events = [
            SocketEvent::CONNECT_RETRIED,
            SocketEvent::HANDSHAKE_SUCCEEDED,
            SocketEvent::HANDSHAKE_FAILED_NO_DETAIL,
            SocketEvent::HANDSHAKE_FAILED_PROTOCOL,
            SocketEvent::HANDSHAKE_FAILED_AUTH,
            SocketEvent::DISCONNECTED,
        ];
        let mask = events.into_iter().fold(0, |mask, event| mask | i32::from(event.to_raw()));
        socket.monitor(NAME, mask).context("cannot watch the connection")?;
        let monitor = context.socket(PAIR).context("cannot watch the connection")?;
        monitor.connect(NAME).context("cannot watch the connection")?;
        Ok(Monitor(monitor))
    }

    /// Returns the state of `connection` now, after the events since.
    pub fn look(&self, mut connection: MonitorState) -> MonitorState {
        // Two parts: the event's number (16 bits, the machine's byte order) with a value, and the address.
        while let Ok(parts) = self.0.recv_multipart(DONTWAIT) {
            let number = parts.first().and_then(|part| part.first_chunk::<2>());
            let Some(number) = number else { continue };
            let event = SocketEvent::from_raw(u16::from_ne_bytes(*number));
            connection = connection.after(event);
        }
        connection
    }
}

impl MonitorState {
    /// A connection that was lost stays lost, though libzmq makes another.
    fn after(self, event: SocketEvent) -> MonitorState {
        use SocketEvent as Event;
        match (self, event) {
            (MonitorState::Open, Event::DISCONNECTED) => MonitorState::Lost,
            (MonitorState::Begun | MonitorState::Refused, event) => match event {
                Event::HANDSHAKE_SUCCEEDED => MonitorState::Open,
                Event::CONNECT_RETRIED => MonitorState::Refused,
                Event::DISCONNECTED => self,
                _ => MonitorState::Foreign,
            },
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_connection_is_the_only_one() {
        use MonitorState::{Begun, Foreign, Lost, Open, Refused};
        let after = |events: &[SocketEvent]| {
            events.iter().fold(Begun, |connection, &event| connection.after(event))
        };
        let (opened, closed) = (SocketEvent::HANDSHAKE_SUCCEEDED, SocketEvent::DISCONNECTED);
        assert_eq!(after(&[opened]), Open);
        assert_eq!(after(&[opened, closed]), Lost);
        assert_eq!(after(&[opened, closed, opened]), Lost);
        assert_eq!(after(&[SocketEvent::CONNECT_RETRIED]), Refused);
        assert_eq!(after(&[SocketEvent::HANDSHAKE_FAILED_PROTOCOL, closed]), Foreign);
    }
}
