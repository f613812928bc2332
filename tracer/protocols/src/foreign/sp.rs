//! The scalability protocols of nanomsg and nng over TCP ("TCP Mapping for Scalability Protocols", `sp-tcp-mapping-01`, §2).
//!
//! ```text
//! | 0 | 'S' | 'P' | version 0 | u16 type of the endpoint | u16 0 |    then messages behind a length of eight bytes
//! ```

use super::name::ForeignName;
use crate::Reader;

/// The first bytes of each end.
pub(super) fn greeting(head: &[u8]) -> Option<ForeignName> {
    let rest = head.strip_prefix(b"\0SP\0")?;
    let mut reader = Reader::new(rest);
    let (kind, reserved) = (reader.u16_be()?, reader.u16_be()?);
    (kind != 0 && reserved == 0).then(|| ForeignName::of("SP (nng, nanomsg)", None))
}
