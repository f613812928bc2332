//! The bodies of Push, Request and Response.
//!
//! ```text
//! 1 PUT    5: timestamp     6: encoding     [timestamp] [encoding] extensions, z32 length, payload
//! 2 DEL    5: timestamp                     [timestamp] extensions
//! 3 QUERY  5: consolidation 6: parameters   [z64] [z64 length, text] extensions
//! 4 REPLY  5: consolidation                 [z64] extensions, then PUT or DEL
//! 5 ERR                     6: encoding     [encoding] extensions, z32 length, payload
//!
//! extensions   PUT, ERR: 1 source info, 2 shared memory (unit); PUT: 3 attachment
//!              DEL: 1 source info, 2 attachment
//!              QUERY: 1 source info, 3 body (encoding, payload), 4 the body that follows is in shared memory, 5 attachment
//!
//! source info  zid length (7..4) | zid | z32 entity | z32 SN
//!
//! shared       z32 slices, each z32 kind | z32 length | bytes; kind 0: the data themselves,
//! memory       1: where the data lie in shared memory
//! ```
//!
//! The payload of a message in shared memory is what is sent on the wire: the slices' bytes, and for a single slice its
//! bytes without kind and length. An attachment counts as protocol bytes.
//!
//! Source: zenoh-protocol and zenoh-codec 1.10, `src/zenoh` of each and `src/core/zbuf.rs`.

use super::message::{NetworkMessage, PayloadRange};
use super::wire::{CursorError, ExtBody, FLAG_Z, ZenohCursor, ZenohResult, id};
use wirelap_events::{FrameClass, GlobalKey};

const FLAG_5: u8 = 0x20;
const FLAG_6: u8 = 0x40;

/// The frame names of a body: with the payload in the message, and in shared memory.
type BodyNames = [&'static str; 2];

const PUT: BodyNames = ["Put", "Put (shm)"];
const QUERY: BodyNames = ["Query", "Query (shm)"];
const REPLY: BodyNames = ["Reply", "Reply (shm)"];
const ERR: BodyNames = ["Err", "Err (shm)"];

/// Reads the body of a Push.
#[inline]
pub fn push<'a>(at: &mut ZenohCursor<'a>, message: &mut NetworkMessage<'a>) -> ZenohResult<()> {
    message.is_push = true;
    let header = at.u8()?;
    match id(header) {
        1 => put(at, header, PUT, message),
        2 => del(at, header, "Del", message),
        _ => Err(CursorError::Malformed),
    }
}

/// Reads the body of a Response.
pub fn response<'a>(at: &mut ZenohCursor<'a>, message: &mut NetworkMessage<'a>) -> ZenohResult<()> {
    let header = at.u8()?;
    match id(header) {
        4 => reply(at, header, message),
        5 => {
            if header & FLAG_6 != 0 {
                at.encoding()?;
            }
            payload(at, header, ERR, message)
        }
        _ => Err(CursorError::Malformed),
    }
}

fn reply<'a>(
    at: &mut ZenohCursor<'a>,
    header: u8,
    message: &mut NetworkMessage<'a>,
) -> ZenohResult<()> {
    if header & FLAG_5 != 0 {
        at.z64()?;
    }
    at.exts(header, |_| Ok(()))?;
    message.is_reply = true;
    let header = at.u8()?;
    match id(header) {
        1 => put(at, header, REPLY, message),
        2 => del(at, header, REPLY[0], message),
        _ => Err(CursorError::Malformed),
    }
}

#[inline]
fn put<'a>(
    at: &mut ZenohCursor<'a>,
    header: u8,
    names: BodyNames,
    message: &mut NetworkMessage<'a>,
) -> ZenohResult<()> {
    if header & FLAG_5 != 0 {
        message.stamped(at.timestamp()?);
    }
    if header & FLAG_6 != 0 {
        at.encoding()?;
    }
    payload(at, header, names, message)
}

/// Reads extensions and payload, the last fields of PUT and ERR.
#[inline]
fn payload<'a>(
    at: &mut ZenohCursor<'a>,
    header: u8,
    names: BodyNames,
    message: &mut NetworkMessage<'a>,
) -> ZenohResult<()> {
    let mut shared = false;
    at.exts(header, |ext| {
        match (ext.id, ext.body) {
            (1, ExtBody::Buf(info)) => message.key = Some(source(info)?),
            (2, ExtBody::Unit) => shared = true,
            (3, ExtBody::Buf(attachment)) => message.attached(attachment),
            _ => {}
        }
        Ok(())
    })?;
    message.is(names[usize::from(shared)], FrameClass::Data);
    if shared {
        return slices(at, message);
    }
    let len = at.z32()?.into();
    carries(at, len, message)
}

/// Notes the next `len` bytes as the message's payload.
#[inline]
fn carries<'a>(
    at: &mut ZenohCursor<'a>,
    len: u64,
    message: &mut NetworkMessage<'a>,
) -> ZenohResult<()> {
    let (start, head) = (at.position(), at.head(len));
    at.skip(len)?;
    message.payload = Some(PayloadRange { start, len, head });
    Ok(())
}

fn slices<'a>(at: &mut ZenohCursor<'a>, message: &mut NetworkMessage<'a>) -> ZenohResult<()> {
    let count = at.z32()?;
    if count == 1 {
        at.z32()?;
        let len = at.z32()?.into();
        return carries(at, len, message);
    }
    let mut all = *at;
    for _ in 0..count {
        at.z32()?;
        let len = at.z32()?;
        at.skip(len.into())?;
    }
    let len = at.position().saturating_sub(all.position());
    carries(&mut all, len, message)
}

fn del<'a>(
    at: &mut ZenohCursor<'a>,
    header: u8,
    name: &'static str,
    message: &mut NetworkMessage<'a>,
) -> ZenohResult<()> {
    if header & FLAG_5 != 0 {
        message.stamped(at.timestamp()?);
    }
    at.exts(header, |ext| {
        match (ext.id, ext.body) {
            (1, ExtBody::Buf(info)) => message.key = Some(source(info)?),
            (2, ExtBody::Buf(attachment)) => message.attached(attachment),
            _ => {}
        }
        Ok(())
    })?;
    message.payload = Some(PayloadRange { start: at.position(), len: 0, head: &[] });
    message.is(name, FrameClass::Data);
    Ok(())
}

/// Reads the body of a Request.
pub fn query<'a>(at: &mut ZenohCursor<'a>, message: &mut NetworkMessage<'a>) -> ZenohResult<()> {
    let header = at.u8()?;
    if id(header) != 3 {
        return Err(CursorError::Malformed);
    }
    message.is(QUERY[0], FrameClass::Other);
    message.consolidation = if header & FLAG_5 != 0 { at.z64()? } else { 0 };
    if header & FLAG_6 != 0 {
        let len = at.z64()?;
        at.skip(len)?;
    }
    let (mut more, mut shared) = (header & FLAG_Z != 0, false);
    while more {
        let header = at.u8()?;
        more = header & FLAG_Z != 0;
        shared |= query_ext(at, header, shared, message)?;
    }
    Ok(())
}

/// Reads one extension of a QUERY. Returns whether it says that the body is in shared memory. The length of such a body is
/// that of its slices, because the extension's own length does not include all of them.
fn query_ext<'a>(
    at: &mut ZenohCursor<'a>,
    header: u8,
    shared: bool,
    message: &mut NetworkMessage<'a>,
) -> ZenohResult<bool> {
    const BODY: u8 = 0x43;
    if shared && header & 0x6F == BODY {
        at.z32()?;
        at.encoding()?;
        message.is(QUERY[1], FrameClass::Data);
        slices(at, message)?;
        return Ok(false);
    }
    let ext = at.ext(header)?;
    match (ext.id, ext.body) {
        (1, ExtBody::Buf(info)) => message.key = Some(source(info)?),
        (3, ExtBody::Buf(mut value)) => {
            value.encoding()?;
            message.is(QUERY[0], FrameClass::Data);
            let len = value.remaining();
            carries(&mut value, len, message)?;
        }
        (4, ExtBody::Unit) => return Ok(true),
        (5, ExtBody::Buf(attachment)) => message.attached(attachment),
        _ => {}
    }
    Ok(false)
}

fn source(mut info: ZenohCursor<'_>) -> ZenohResult<GlobalKey> {
    let flags = info.u8()?;
    let origin = info.zid(flags)?.0;
    let entity = info.z32()?;
    let sn = info.z32()?;
    Ok(GlobalKey { origin, seq: u64::from(entity) << 32 | u64::from(sn), unique: true })
}
