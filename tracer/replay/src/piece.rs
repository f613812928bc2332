//! A piece that another program has cut out of a recording, without the beginning that tells of its sockets.

use std::collections::HashSet;
use wirelap_events::{
    Body, Comm, Cpu, Event, Packet, Socket, SocketId, SocketOrigin, TaskId, Transport,
};
use wirelap_recording::Entry;

/// The most sockets that are found by their packets.
const MAX_SOCKETS: usize = 65_536;

/// Sockets of a recording, which are found by their first packets where its beginning is missing.
#[derive(Debug, Default)]
pub struct SocketsOfPiece {
    state: PieceState,
    found: HashSet<SocketId>,
}

/// Beginning of a recording: whole, or missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PieceState {
    /// Nothing of it has been read.
    #[default]
    Unknown,
    /// With its notes and sockets.
    Whole,
    /// With something else.
    Piece,
}

impl SocketsOfPiece {
    /// The socket that an entry is the first to tell of, although it should have been told before.
    pub fn learn(&mut self, entry: &Entry<'_>) -> Option<Event<'static>> {
        let Entry::Event(Event { body: Body::Packet(packet), at, .. }) = entry else {
            if self.state == PieceState::Unknown && !matches!(entry, Entry::Tick(_)) {
                self.state = PieceState::Whole;
            }
            return None;
        };
        if self.state == PieceState::Unknown {
            self.state = PieceState::Piece;
        }
        if self.state == PieceState::Whole || self.found.len() >= MAX_SOCKETS {
            return None;
        }
        let id = packet.socket.filter(|id| self.found.insert(*id))?;
        Some(Event { at: *at, cpu: Cpu(0), body: Body::Socket(socket(id, packet)) })
    }

    /// The recording's beginning is missing.
    pub fn is_piece(&self) -> bool {
        self.state == PieceState::Piece
    }
}

/// Describes a socket by a packet that it sends.
fn socket(id: SocketId, packet: &Packet<'_>) -> Socket {
    let flow = packet.flow;
    Socket {
        id,
        netns: packet.netns,
        transport: flow.transport,
        local: flow.src,
        remote: (flow.transport == Transport::Tcp).then_some(flow.dst),
        // Its calls tell whose it is.
        task: TaskId::default(),
        comm: Comm::default(),
        origin: SocketOrigin::FirstSeen,
        tx_next: None,
        rx_next: None,
        is_subflow: false,
    }
}
