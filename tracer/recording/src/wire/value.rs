//! A value ↔ its bytes.

use super::layout::{WireReader, WireWriter};
use arrayvec::ArrayString;
use std::net::{IpAddr, SocketAddr};
use wirelap_events::{
    CgroupId, Comm, Cpu, IfIndex, Nanos, NetNs, PacketId, Pid, Seq, SocketId, Tid,
};

/// A value that stands in a record.
pub trait WireValue: Sized {
    /// Writes the value.
    fn put<W: WireWriter>(&self, out: &mut W);

    /// Reads a value; `None` if the bytes end before it does, or are no such value.
    fn take<R: WireReader>(from: &mut R) -> Option<Self>;
}

/// Fields in the order in which they stand in a record. Those behind a semicolon came later: recordings of
/// earlier versions end before them, and they have their default value then.
macro_rules! fields {
    ($($type:ident { $($field:ident),* $(; $($later:ident),*)? })*) => { $(
        impl WireValue for $type {
            fn put<W: $crate::wire::WireWriter>(&self, out: &mut W) {
                $(self.$field.put(out);)*
                $($(self.$later.put(out);)*)?
            }
            fn take<R: $crate::wire::WireReader>(from: &mut R) -> Option<$type> {
                Some($type {
                    $($field: WireValue::take(from)?,)*
                    $($($later: WireValue::take(from).unwrap_or_default(),)*)?
                })
            }
        }
    )* };
}

pub(crate) use fields;

/// Variants by number, with their fields. Fields behind a semicolon came later, as in [`fields`].
macro_rules! variants {
    ($($type:ident {
        $($number:literal => $variant:ident
            $({ $($field:ident),* $(; $($later:ident),*)? })? $(($inner:ident))?),*
    })*) => { $(
        impl WireValue for $type {
            fn put<W: $crate::wire::WireWriter>(&self, out: &mut W) {
                match self {
                    $($type::$variant $({ $($field,)* $($($later),*)? })? $(($inner))? => {
                        out.variant($number);
                        $($($field.put(out);)* $($($later.put(out);)*)?)?
                        $($inner.put(out);)?
                    })*
                }
            }
            fn take<R: $crate::wire::WireReader>(from: &mut R) -> Option<$type> {
                Some(match from.variant()? {
                    $($number => $type::$variant
                        $({
                            $($field: WireValue::take(from)?,)*
                            $($($later: WireValue::take(from).unwrap_or_default(),)*)?
                        })?
                        $(({ let $inner = WireValue::take(from)?; $inner }))?,)*
                    _ => return None,
                })
            }
        }
    )* };
}

pub(super) use variants;

macro_rules! unsigned {
    ($($type:ty),*) => { $(
        impl WireValue for $type {
            fn put<W: WireWriter>(&self, out: &mut W) {
                out.unsigned(u64::from(*self));
            }
            fn take<R: WireReader>(from: &mut R) -> Option<$type> {
                <$type>::try_from(from.unsigned()?).ok()
            }
        }
    )* };
}
unsigned!(u8, u16, u32, u64);

macro_rules! newtypes {
    ($($type:ident),*) => { $(
        impl WireValue for $type {
            fn put<W: WireWriter>(&self, out: &mut W) {
                self.0.put(out);
            }
            fn take<R: WireReader>(from: &mut R) -> Option<$type> {
                WireValue::take(from).map($type)
            }
        }
    )* };
}
newtypes!(CgroupId, Cpu, IfIndex, NetNs, Pid, SocketId, Tid);

/// A signed number, as of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed(pub i64);

/// Values that [`WireWriter`] has a layout of their own for.
macro_rules! own_layout {
    ($($type:ident: $method:ident),*) => { $(
        impl WireValue for $type {
            fn put<W: WireWriter>(&self, out: &mut W) {
                out.$method(self.0);
            }
            fn take<R: WireReader>(from: &mut R) -> Option<$type> {
                from.$method().map($type)
            }
        }
    )* };
}
own_layout!(Signed: signed, Nanos: time, Seq: sequence, PacketId: address);

impl WireValue for bool {
    fn put<W: WireWriter>(&self, out: &mut W) {
        out.variant(u8::from(*self));
    }

    fn take<R: WireReader>(from: &mut R) -> Option<bool> {
        match from.variant()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<T: WireValue> WireValue for Option<T> {
    fn put<W: WireWriter>(&self, out: &mut W) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take<R: WireReader>(from: &mut R) -> Option<Option<T>> {
        if bool::take(from)? { T::take(from).map(Some) } else { Some(None) }
    }
}

/// A name: its length without the NULs at its end, then so many bytes. Bytes behind an earlier NUL are kept.
impl WireValue for Comm {
    fn put<W: WireWriter>(&self, out: &mut W) {
        let len =
            self.0.iter().rposition(|&byte| byte != 0).map_or(0, |last| last.saturating_add(1));
        out.unsigned(len as u64);
        out.bytes(&self.0[..len]);
    }

    fn take<R: WireReader>(from: &mut R) -> Option<Comm> {
        let len = usize::from(u8::take(from)?);
        let mut comm = Comm::default();
        from.fill(comm.0.get_mut(..len)?)?;
        Some(comm)
    }
}

impl WireValue for SocketAddr {
    fn put<W: WireWriter>(&self, out: &mut W) {
        match self.ip() {
            IpAddr::V4(ip) => {
                out.variant(4);
                out.bytes(&ip.octets());
            }
            IpAddr::V6(ip) => {
                out.variant(6);
                out.bytes(&ip.octets());
            }
        }
        out.bytes(&self.port().to_be_bytes());
    }

    fn take<R: WireReader>(from: &mut R) -> Option<SocketAddr> {
        let ip = match from.variant()? {
            4 => IpAddr::from(from.array::<4>()?),
            6 => IpAddr::from(from.array::<16>()?),
            _ => return None,
        };
        Some(SocketAddr::new(ip, u16::from_be_bytes(from.array()?)))
    }
}

/// Text: its length in bytes, then so many bytes.
impl<const N: usize> WireValue for ArrayString<N> {
    fn put<W: WireWriter>(&self, out: &mut W) {
        out.unsigned(self.len() as u64);
        out.bytes(self.as_bytes());
    }

    fn take<R: WireReader>(from: &mut R) -> Option<ArrayString<N>> {
        let len = usize::try_from(from.unsigned()?).ok()?;
        let mut bytes = [0; N];
        let bytes = bytes.get_mut(..len)?;
        from.fill(bytes)?;
        ArrayString::from(std::str::from_utf8(bytes).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::bytes::Bytes;
    use super::*;

    #[test]
    fn a_number_too_large_for_its_type_is_none() {
        assert_eq!(u16::take(&mut Bytes(&[0x80, 0x80, 0x04])), None);
    }

    #[test]
    fn a_name_longer_than_the_kernels_is_none() {
        let mut bytes = vec![17];
        bytes.extend([b'x'; 17]);
        assert_eq!(Comm::take(&mut Bytes(&bytes)), None);
    }
}
