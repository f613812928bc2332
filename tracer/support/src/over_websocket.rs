//! Conversations over a WebSocket, and what holds of them: however the flow is cut into packets and the payload into frames,
//! compressed or not, the same messages are found.

use crate::compose::websocket::{Deflater, REQUEST, frame, response};
use crate::exercise::cut;
use crate::packed;
use crate::player::{Chunk, describe};
use wirelap_events::{Frame, Offset, Transport};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::websocket::{MaybeWebSocket, WebSocket, WebSocketTrial};
use wirelap_protocols::{Connection, Protocol, Side, mqtt};

/// Framing of payload.
#[derive(Clone, Copy, Debug)]
pub struct Framing {
    /// True if messages are compressed.
    pub compressed: bool,
    /// True if compressed messages refer to no earlier one.
    pub forgets: bool,
    /// Payload bytes of a frame, at most.
    pub fragment: usize,
}

/// Frames in words with their places, messages in words, and bytes in no frame, as they were found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FoundInside {
    /// All frames.
    pub frames: Vec<String>,
    /// Topic, length and first bytes of each message.
    pub messages: Vec<String>,
    /// Bytes in which no frame was found.
    pub undecoded: u64,
}

/// The packets of an MQTT conversation over a WebSocket, in which each chunk is a message.
pub fn framed(chunks: &[Chunk], framing: Framing) -> Vec<Chunk> {
    let Framing { compressed, forgets, fragment } = framing;
    let extension = match (compressed, forgets) {
        (false, _) => "",
        (true, false) => "permessage-deflate",
        (true, true) => {
            "permessage-deflate; client_no_context_takeover; server_no_context_takeover"
        }
    };
    let mut all = vec![Chunk::whole(Side::A, REQUEST), Chunk::whole(Side::B, &response(extension))];
    let mut deflaters = [Side::A, Side::B].map(|_| Deflater::new(forgets));
    for (n, chunk) in chunks.iter().enumerate() {
        let deflater = &mut deflaters[chunk.side as usize];
        let payload = if compressed { deflater.message(&chunk.bytes) } else { chunk.bytes.clone() };
        let key = (chunk.side == Side::A).then(|| u32::try_from(n).unwrap_or(7).to_be_bytes());
        let parts: Vec<&[u8]> =
            if payload.is_empty() { vec![&[]] } else { payload.chunks(fragment.max(1)).collect() };
        for (at, part) in parts.iter().enumerate() {
            let opcode = if at == 0 { 2 | if compressed { 0x40 } else { 0 } } else { 0 };
            let last = if at + 1 == parts.len() { 0x80 } else { 0 };
            all.push(Chunk::whole(chunk.side, &frame(opcode | last, key, part)));
            if n % 3 == 1 && last == 0 {
                all.push(Chunk::whole(chunk.side, &frame(0x89, key, b"?")));
            }
        }
    }
    all
}

/// Plays packets to a decoder.
pub fn play(decoder: &mut dyn Connection, chunks: &[Chunk], mid_stream: bool) -> FoundInside {
    let mut streams = [Side::A, Side::B].map(|side| Stream::new(side, mid_stream));
    let (mut at, mut found) = ([Offset::START; 2], FoundInside::default());
    for chunk in chunks {
        let side = chunk.side as usize;
        streams[side].feed(at[side], &chunk.bytes, chunk.missing, decoder, &mut |frame: &Frame<
            '_,
        >| {
            let range = (frame.range.start.0, frame.range.end.0);
            found.frames.push(format!("{:?} {range:?} {}", chunk.side, describe(frame)));
            found.messages.extend(frame.data.map(|data| {
                let head = data.payload.get(..64).unwrap_or(data.payload);
                let text = head.escape_ascii();
                format!("{} {} {text}", data.topic.escape_ascii(), data.payload_len)
            }));
        });
        at[side] = at[side].plus(chunk.len());
    }
    found.undecoded = streams.iter().map(Stream::undecoded_bytes).sum();
    found
}

/// A WebSocket that carries MQTT.
pub fn layer() -> WebSocket {
    let mut layer = WebSocket::default();
    layer.carries(&mqtt::PROTOCOL, mqtt::PROTOCOL.connection(Transport::Tcp));
    layer
}

/// Checks bytes that a fuzzer makes up, as the bytes of a flow and as the payload of messages.
pub fn check_packed(packed: &[u8]) {
    let (_, chunks) = packed::unpack(packed);
    let mut len = packed.len() % 7;
    let pieces = cut(&chunks, || {
        len = (len + 1) % 7;
        len + 1
    });
    let whole = play(&mut layer(), &chunks, false);
    let cut_up = play(&mut layer(), &pieces, false);
    if whole.undecoded == 0 {
        assert_eq!(cut_up, whole, "it depends on packets");
    }
    for chunks in [&chunks, &pieces] {
        play(&mut layer(), chunks, true);
        for mid_stream in [false, true] {
            let [plain, carried] = [(); 2].map(|()| mqtt::PROTOCOL.connection(Transport::Tcp));
            play(&mut MaybeWebSocket::new(&mqtt::PROTOCOL, plain, carried), chunks, mid_stream);
        }
        let (mut trial, mut at) = (WebSocketTrial::default(), [Offset::START; 2]);
        for chunk in chunks {
            let at = &mut at[chunk.side as usize];
            trial.packet(
                chunk.side,
                packed.len().is_multiple_of(2),
                *at,
                &chunk.bytes,
                chunk.missing,
            );
            *at = at.plus(chunk.len());
            let _ = (trial.opened([1883, 1].into()).is_some(), trial.held_bytes());
        }
    }
    for (compressed, forgets) in [(false, false), (true, false), (true, true)] {
        let fragment = 1 + packed.len() % 40;
        check_framed(&chunks, Framing { compressed, forgets, fragment });
    }
}

/// The frames of a flow do not depend on its packets, nor its messages on the frames.
pub fn check_framed(chunks: &[Chunk], framing: Framing) {
    let chunks: Vec<_> = chunks.iter().map(|chunk| Chunk { missing: 0, ..chunk.clone() }).collect();
    let flow = framed(&chunks, framing);
    let whole = play(&mut layer(), &flow, false);
    assert_eq!(whole.undecoded, 0, "what is framed is read: {framing:?}");
    let mut len = 0;
    let pieces = cut(&flow, || {
        len = (len + 5) % 11;
        len + 1
    });
    assert_eq!(play(&mut layer(), &pieces, false), whole, "it depends on packets: {framing:?}");
    let plain = play(&mut *mqtt::PROTOCOL.connection(Transport::Tcp), &chunks, false);
    if plain.undecoded == 0 {
        assert_eq!(whole.messages, plain.messages, "it depends on frames: {framing:?}");
    }
}
