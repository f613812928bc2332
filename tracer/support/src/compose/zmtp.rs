//! Frames of ZMTP 3 (RFC 23).

/// A greeting of version 3.0 and a `READY` that names the socket's type.
pub fn introduction(socket: &str) -> Vec<u8> {
    introduction_of(socket, "")
}

/// An introduction that also has an identity, unless that is empty.
pub fn introduction_of(socket: &str, identity: &str) -> Vec<u8> {
    let mut bytes = vec![0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 3, 0];
    bytes.extend(b"NULL");
    bytes.resize(64, 0);
    let length = u8::try_from(socket.len()).unwrap();
    let mut body = [b"\x05READY\x0bSocket-Type\0\0\0", &[length][..], socket.as_bytes()].concat();
    if !identity.is_empty() {
        let length = u8::try_from(identity.len()).unwrap();
        body.extend([b"\x08Identity\0\0\0", &[length][..], identity.as_bytes()].concat());
    }
    bytes.extend([4, u8::try_from(body.len()).unwrap()]);
    [bytes, body].concat()
}

/// A part of a message; `has_more` says that another one follows.
pub fn part(has_more: bool, body: &[u8]) -> Vec<u8> {
    let flags = u8::from(has_more);
    let head = match u8::try_from(body.len()) {
        Ok(len) => vec![flags, len],
        Err(_) => [&[flags | 2][..], &(body.len() as u64).to_be_bytes()].concat(),
    };
    [head, body.to_vec()].concat()
}
