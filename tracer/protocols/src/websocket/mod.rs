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
//! | `map` | from carried bytes to bytes of the flow |
//! | `layer` | the decoder around a decoder |
//! | `trial` | whether a conversation is a WebSocket that carries a known protocol |
//!
//! Compressed messages (RFC 7692) are not inflated: they are opaque frames.

mod deframe;
mod frame;
mod handshake;
mod layer;
mod map;
mod trial;

pub use layer::WebSocket;
pub use trial::Trial;

#[cfg(test)]
mod tests;
