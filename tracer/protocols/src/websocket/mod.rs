//! WebSocket (RFC 6455): a layer between TCP, or whatever carries its bytes, and a protocol.
//!
//! The decoder of the carried protocol is inside of a [`WebSocket`], which is a decoder itself: whoever cuts a flow into PDUs
//! sees handshakes and frames; the carried decoder sees the unmasked payload as a stream of its own. What it finds is
//! reported at its place in the flow below, so that a message's bytes are those that the kernel's counters count.
//!
//! | module | contents |
//! |---|---|
//! | `handshake` | the HTTP request and response with which a WebSocket opens |
//! | `frame` | the header of a frame |
//! | `deframe` | payload out of frames, in one direction |
//! | `gathered` | payload of several frames, in which a PDU's start is looked for |
//! | `inflate` | text out of compressed messages |
//! | `map` | from carried bytes to bytes of the flow |
//! | `carried` | payload → the decoder of what is carried |
//! | `layer` | the decoder around a decoder |
//! | `sync` | whether a frame starts somewhere in mid-stream |
//! | `kept` | what is kept while the carried protocol is not known |
//! | `named` | a conversation of a given protocol that may stand on a WebSocket |
//! | `trial` | whether a conversation is a WebSocket that carries a known protocol |
//!
//! Compressed messages (RFC 7692) are inflated, as far as what they refer to is known.

mod carried;
mod deframe;
mod frame;
mod gathered;
mod handshake;
mod inflate;
mod kept;
mod layer;
mod map;
mod named;
mod sync;
mod trial;

pub(crate) use inflate::may_start as may_start_deflated;
pub use layer::WebSocket;
pub use named::MaybeWebSocket;
pub use trial::WebSocketTrial;

#[cfg(test)]
mod tests;
