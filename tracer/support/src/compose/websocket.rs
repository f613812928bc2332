//! Frames of a WebSocket (RFC 6455 §5.2).

/// A whole message in a frame of binary data, masked as a client does.
pub fn masked(payload: &[u8]) -> Vec<u8> {
    frame(0x82, Some([0x37, 0xFA, 0x21, 0x3D]), payload)
}

/// A whole message in a frame of binary data, as a server sends it.
pub fn unmasked(payload: &[u8]) -> Vec<u8> {
    frame(0x82, None, payload)
}

/// A frame that starts with this byte.
pub fn frame(first: u8, key: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
    let mask = if key.is_some() { 0x80 } else { 0 };
    let mut bytes = vec![first];
    let len = payload.len();
    match (u8::try_from(len), u16::try_from(len)) {
        (Ok(short @ ..126), _) => bytes.push(mask | short),
        (_, Ok(medium)) => {
            bytes.push(mask | 0x7E);
            bytes.extend(medium.to_be_bytes());
        }
        _ => {
            bytes.push(mask | 0x7F);
            bytes.extend((len as u64).to_be_bytes());
        }
    }
    bytes.extend(key.iter().flatten());
    let key = key.unwrap_or_default();
    bytes.extend(payload.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key));
    bytes
}

/// A client's part of the handshake.
pub const REQUEST: &[u8] = b"GET /mqtt HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Protocol: mqtt\r\n\r\n";

/// A server's part of the handshake, with these extensions.
pub fn response(extensions: &str) -> Vec<u8> {
    let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n";
    format!("{head}Sec-WebSocket-Extensions: {extensions}\r\n\r\n").into_bytes()
}

/// Compresses the messages of one direction (RFC 7692 §7.2.1).
#[derive(Debug)]
pub struct Deflater {
    state: flate2::Compress,
    forgets: bool,
}

impl Deflater {
    /// With `no_context_takeover`, it `forgets` earlier messages.
    pub fn new(forgets: bool) -> Deflater {
        Deflater { state: flate2::Compress::new(flate2::Compression::default(), false), forgets }
    }

    /// The payload of a message with this text.
    pub fn message(&mut self, text: &[u8]) -> Vec<u8> {
        if text.is_empty() {
            // §7.2.3.6
            return vec![0];
        }
        if self.forgets {
            self.state.reset();
        }
        let (before, mut packed) = (self.state.total_in(), Vec::new());
        loop {
            packed.reserve(1 << 16);
            let done = usize::try_from(self.state.total_in() - before).unwrap();
            let flush = flate2::FlushCompress::Sync;
            self.state.compress_vec(&text[done..], &mut packed, flush).unwrap();
            if done == text.len() || packed.len() < packed.capacity() {
                break;
            }
        }
        // An empty stored block, of which the last four bytes are left out.
        let kept = packed.len() - 4;
        assert_eq!(packed[kept..], [0, 0, 0xFF, 0xFF]);
        packed.truncate(kept);
        packed
    }
}
