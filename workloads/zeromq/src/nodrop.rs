//! `ZMQ_XPUB_NODROP`, the one option of libzmq that is needed and that the crate zmq does not have. Calls into a
//! workload's C library are the one exception to the rule that unsafe code is in `tracer/capture` only.
#![allow(unsafe_code)] // libzmq is a C library, and zmq-sys exports its functions as they are.

use anyhow::{Result, ensure};
use std::ffi::c_int;
use std::mem::size_of;
use zmq::Socket;

/// At the high-water mark, make senders wait (true) or drop the message (false, libzmq's default).
pub fn set(socket: &mut Socket, nodrop: bool) -> Result<()> {
    let value = c_int::from(nodrop);
    let option = zmq_sys::ZMQ_XPUB_NODROP.cast_signed();
    // SAFETY: the socket is open for as long as it is borrowed here, and the option takes an int, which libzmq copies
    // before it returns (zmq_setsockopt(3)).
    let status = unsafe {
        zmq_sys::zmq_setsockopt(
            socket.as_mut_ptr(),
            option,
            (&raw const value).cast(),
            size_of::<c_int>(),
        )
    };
    ensure!(status == 0, "libzmq does not take ZMQ_XPUB_NODROP");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only an XPUB socket has the option.
    #[test]
    fn it_is_set_where_there_is_one() {
        let context = zmq::Context::new();
        let mut publisher = context.socket(zmq::XPUB).unwrap();
        assert!(set(&mut publisher, true).is_ok());
        let mut other = context.socket(zmq::REQ).unwrap();
        assert!(set(&mut other, true).is_err());
    }
}
