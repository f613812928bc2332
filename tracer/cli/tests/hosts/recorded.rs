//! A capture as `wirelap record` would have written it.

use std::collections::BTreeMap;
use std::path::Path;
use wirelap_events::{
    Body, Comm, Event, FlowKey, Nanos, NetNs, PacketHook, Pid, ReadKind, Ready, ReadyKind,
    SendCall, SendKind, Socket, SocketId, SocketOrigin, TaskId, Tid, Transport, Wake,
};
use wirelap_recording::{Encoder, EncoderSettings, Note, Recording, SectionHeader};

/// Makes the file that `wirelap record` would have written of these packets, on a host that started some time ago: each payload was
/// sent by a call [`WRITTEN`] before, and made its reader [`TOLD`] ready, woke it, ran and was read.
///
/// Both hosts count their sockets, processes and packets from the same number on.
pub fn recorded(
    capture: &Path,
    (host, kernel_run): ([u8; 4], u64),
    serves: bool,
    payload: bool,
) -> Vec<u8> {
    const SINCE_1970: i64 = 1_700_000_000_000_000_000;
    let section = SectionHeader { wall: SINCE_1970, kernel_run, ..SectionHeader::default() };
    let settings = EncoderSettings { payload, ..EncoderSettings::default() };
    let mut encoder = Encoder::new(section, settings, Box::new(|_, _| None));
    encoder.note(Note { subject: "payload", text: if payload { "kept" } else { "cut" } });
    let mut recording = Recording::new(wirelap_recording::open(capture).unwrap()).unwrap();
    let mut sockets: BTreeMap<FlowKey, u64> = BTreeMap::new();
    while let Some(mut event) = recording.next_packet() {
        event.at = Nanos(event.at.0.checked_add_signed(-SINCE_1970).unwrap());
        let at = |body, at| Event { at, cpu: event.cpu, body };
        let Body::Packet(mut packet) = event.body else { unreachable!() };
        let is_sent = packet.flow.src.ip() == std::net::IpAddr::from(host);
        packet.hook = if is_sent { PacketHook::Xmit } else { PacketHook::Rx };
        packet.netns = NetNs(1);
        let sent = if is_sent { packet.flow } else { packet.flow.reversed() };
        let number = sockets.len() as u64 + 1;
        let is_new = !sockets.contains_key(&sent);
        let id = SocketId(*sockets.entry(sent).or_insert(number));
        // The broker is one process.
        let pid = if serves { 700 } else { 700 + u32::try_from(id.0).unwrap() };
        let task = TaskId { pid: Pid(pid), tid: Tid(pid) };
        if is_new {
            encoder.event(&at(
                Body::Socket(Socket {
                    id,
                    netns: packet.netns,
                    transport: Transport::Tcp,
                    local: sent.src,
                    remote: Some(sent.dst),
                    task,
                    comm: Comm::from_name(if serves { "the-broker" } else { "a-client" }),
                    origin: if serves { SocketOrigin::Accepted } else { SocketOrigin::Connected },
                    tx_next: None,
                    rx_next: None,
                    is_subflow: false,
                }),
                event.at - Nanos(50_000),
            ));
        }
        let (tcp, len) = (packet.tcp.unwrap(), packet.payload_len);
        if !payload {
            packet.payload = &[];
        }
        if is_sent {
            packet.socket = Some(id);
            let kind = SendKind::Stream { start: tcp.seq, len, state: None };
            if len > 0 {
                encoder.event(&at(
                    Body::Send(SendCall { socket: id, task, kind }),
                    event.at - WRITTEN,
                ));
            }
        }
        encoder.event(&at(Body::Packet(packet), event.at));
        if !is_sent && len > 0 {
            let end = tcp.seq.plus(len);
            let [ready, woken, running, read] = TOLD.map(|after| event.at + after);
            let kind = ReadyKind::Stream(end);
            encoder.event(&at(Body::Ready(Ready { socket: id, kind }), ready));
            let wake = Wake { task, woken, from_irq: true, left: None, ..Wake::default() };
            encoder.event(&at(Body::Wake(wake), running));
            let kind = ReadKind::Stream { end, len };
            encoder
                .event(&at(Body::Read(wirelap_events::ReadCall { socket: id, task, kind }), read));
        }
    }
    encoder.complete();
    encoder.bytes().to_vec()
}

/// From a call to its packet.
pub const WRITTEN: Nanos = Nanos(10_000);

/// From a packet to its socket's being ready, its reader's being woken, running and having read.
pub const TOLD: [Nanos; 4] = [Nanos(3_000), Nanos(5_000), Nanos(9_000), Nanos(17_000)];
