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
