//! Multipath TCP's options (RFC 8684 §3): which bytes of its connection a subflow carries.

use crate::wire::Bytes;

/// The option's number among those of TCP.
const KIND: u8 = 30;

/// `MP_CAPABLE`, `MP_JOIN` and `DSS`.
const CAPABLE: u8 = 0;
const JOIN: u8 = 1;
const DATA_SEQUENCE: u8 = 2;

/// Statement of the option about the bytes that a subflow carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multipath {
    /// The subflow is the first one of a connection (§3.1).
    Begins,
    /// The subflow joins a connection that has another one (§3.2).
    Joins,
    /// Bytes of the connection are mapped to bytes of the subflow (§3.3).
    Maps(DataMapping),
}

/// Bytes of a connection in a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataMapping {
    /// The number of the first byte in the connection.
    pub data: u64,
    /// Only the lower 32 bits of that number are known.
    pub is_narrow: bool,
    /// The number of the first byte in the subflow: that after the SYN is 1.
    pub subflow: u32,
    /// Bytes.
    pub len: u16,
}

impl Multipath {
    /// Looks for the option among those of a TCP header.
    pub fn find(options: &[u8]) -> Option<Multipath> {
        // Most packets have nothing but a timestamp (RFC 7323 §3.2, appendix A).
        if let [1, 1, 8, 10, rest @ ..] = options
            && rest.len() <= 8
        {
            return None;
        }
        let mut from = Bytes(options);
        loop {
            let kind = from.array::<1>()?;
            match kind[0] {
                0 => return None,
                1 => {}
                kind => {
                    let len = from.array::<1>()?;
                    let value = from.take(usize::from(len[0]).checked_sub(2)?)?;
                    if kind == KIND
                        && let Some(found) = Multipath::read(value)
                    {
                        return Some(found);
                    }
                }
            }
        }
    }

    fn read(value: &[u8]) -> Option<Multipath> {
        let mut from = Bytes(value);
        match from.array::<1>()?[0] >> 4 {
            CAPABLE => Some(Multipath::Begins),
            JOIN => Some(Multipath::Joins),
            DATA_SEQUENCE => {
                let flags = from.array::<1>()?[0];
                let has = |bit: u8| flags & bit != 0;
                if has(0x01) {
                    from.take(if has(0x02) { 8 } else { 4 })?;
                }
                if !has(0x04) {
                    return None;
                }
                let is_narrow = !has(0x08);
                let data = if is_narrow {
                    u32::from_be_bytes(from.array()?).into()
                } else {
                    u64::from_be_bytes(from.array()?)
                };
                let subflow = u32::from_be_bytes(from.array()?);
                let len = u16::from_be_bytes(from.array()?);
                // The end of the data alone has no bytes of the subflow, and what fell back to TCP has no length.
                let mapping = DataMapping { data, is_narrow, subflow, len };
                (subflow > 0 && len > 0).then_some(Multipath::Maps(mapping))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_behind_others() {
        let timestamp = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        assert_eq!(Multipath::find(&timestamp), None);
        let join = [&[2, 4, 5, 180][..], &[30, 12, 0x10, 1], &[7; 8]].concat();
        assert_eq!(Multipath::find(&join), Some(Multipath::Joins));
        let capable = [30, 4, 1, 0x81];
        assert_eq!(Multipath::find(&capable), Some(Multipath::Begins));
        // Data acknowledgement and number of 8 bytes each, number in the subflow 5, 100 bytes.
        let mut dss = [&timestamp[..], &[30, 26, 0x20, 0x0F]].concat();
        dss.extend([[0; 8], [0, 0, 0, 9, 0, 0, 1, 0]].concat());
        dss.extend([0, 0, 0, 5, 0, 100]);
        let mapping = |data, is_narrow| {
            Some(Multipath::Maps(DataMapping { data, is_narrow, subflow: 5, len: 100 }))
        };
        assert_eq!(Multipath::find(&dss), mapping(9 << 32 | 256, false));
        for end in 0..dss.len() {
            assert_eq!(Multipath::find(&dss[..end]), None, "{end}");
        }
        // The same with 4 bytes, and without a mapping.
        let short = [30, 18, 0x20, 0x05, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 5, 0, 100];
        assert_eq!(Multipath::find(&short), mapping(256, true));
        assert_eq!(Multipath::find(&[30, 8, 0x20, 0x01, 0, 0, 0, 1]), None);
    }
}
