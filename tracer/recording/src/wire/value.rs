//! A value ↔ its bytes.

use super::bytes::{Bytes, put_signed, put_unsigned};
use arrayvec::ArrayString;
use std::net::{IpAddr, SocketAddr};
use wirelap_events::{
    CgroupId, Comm, Cpu, IfIndex, Nanos, NetNs, PacketId, Pid, Seq, SocketId, Tid,
};

/// A value that stands in a record.
pub trait WireValue: Sized {
    /// Appends the value's bytes.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads a value; `None` if the bytes end before it does, or are no such value.
    fn take(from: &mut Bytes<'_>) -> Option<Self>;
}

/// Fields in the order in which they stand in a record. Those behind a semicolon came later: recordings of
/// earlier versions end before them, and they have their default value then.
macro_rules! fields {
    ($($type:ident { $($field:ident),* $(; $($later:ident),*)? })*) => { $(
        impl WireValue for $type {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
                $($(self.$later.put(out);)*)?
            }
            fn take(from: &mut Bytes<'_>) -> Option<$type> {
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
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $($type::$variant $({ $($field,)* $($($later),*)? })? $(($inner))? => {
                        out.push($number);
                        $($($field.put(out);)* $($($later.put(out);)*)?)?
                        $($inner.put(out);)?
                    })*
                }
            }
            fn take(from: &mut Bytes<'_>) -> Option<$type> {
                let [number] = from.array()?;
                Some(match number {
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
            fn put(&self, out: &mut Vec<u8>) {
                put_unsigned(out, u64::from(*self));
            }
            fn take(from: &mut Bytes<'_>) -> Option<$type> {
                <$type>::try_from(from.unsigned()?).ok()
            }
        }
    )* };
}
unsigned!(u8, u16, u32, u64);

macro_rules! newtypes {
    ($($type:ident),*) => { $(
        impl WireValue for $type {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
            fn take(from: &mut Bytes<'_>) -> Option<$type> {
                WireValue::take(from).map($type)
            }
        }
    )* };
}
newtypes!(CgroupId, Cpu, IfIndex, Nanos, NetNs, Pid, SocketId, Tid);

/// A signed number, as of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed(pub i64);

impl WireValue for Signed {
    fn put(&self, out: &mut Vec<u8>) {
        put_signed(out, self.0);
    }

    fn take(from: &mut Bytes<'_>) -> Option<Signed> {
        from.signed().map(Signed)
    }
}

/// Values that are as likely large as small: all their bytes, the lowest first.
macro_rules! fixed {
    ($($type:ident($number:ty)),*) => { $(
        impl WireValue for $type {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.0.to_le_bytes());
            }
            fn take(from: &mut Bytes<'_>) -> Option<$type> {
                from.array().map(<$number>::from_le_bytes).map($type)
            }
        }
    )* };
}
fixed!(PacketId(u64), Seq(u32));

impl WireValue for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(from: &mut Bytes<'_>) -> Option<bool> {
        match from.array()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
}

impl<T: WireValue> WireValue for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(from: &mut Bytes<'_>) -> Option<Option<T>> {
        if bool::take(from)? { T::take(from).map(Some) } else { Some(None) }
    }
}

/// A name: its length without the NULs at its end, then so many bytes. Bytes behind an earlier NUL are kept.
impl WireValue for Comm {
    fn put(&self, out: &mut Vec<u8>) {
        let len =
            self.0.iter().rposition(|&byte| byte != 0).map_or(0, |last| last.saturating_add(1));
        put_unsigned(out, len as u64);
        out.extend_from_slice(&self.0[..len]);
    }

    fn take(from: &mut Bytes<'_>) -> Option<Comm> {
        let len = usize::from(u8::take(from)?);
        let mut comm = Comm::default();
        comm.0.get_mut(..len)?.copy_from_slice(from.take(len)?);
        Some(comm)
    }
}

impl WireValue for SocketAddr {
    fn put(&self, out: &mut Vec<u8>) {
        match self.ip() {
            IpAddr::V4(ip) => {
                out.push(4);
                out.extend_from_slice(&ip.octets());
            }
            IpAddr::V6(ip) => {
                out.push(6);
                out.extend_from_slice(&ip.octets());
            }
        }
        out.extend_from_slice(&self.port().to_be_bytes());
    }

    fn take(from: &mut Bytes<'_>) -> Option<SocketAddr> {
        let ip = match from.array()? {
            [4] => IpAddr::from(from.array::<4>()?),
            [6] => IpAddr::from(from.array::<16>()?),
            _ => return None,
        };
        Some(SocketAddr::new(ip, u16::from_be_bytes(from.array()?)))
    }
}

/// Text: its length in bytes, then so many bytes.
impl<const N: usize> WireValue for ArrayString<N> {
    fn put(&self, out: &mut Vec<u8>) {
        put_unsigned(out, self.len() as u64);
        out.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut Bytes<'_>) -> Option<ArrayString<N>> {
        let len = usize::try_from(from.unsigned()?).ok()?;
        let text = std::str::from_utf8(from.take(len)?).ok()?;
        ArrayString::from(text).ok()
    }
}

#[cfg(test)]
mod tests {
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
