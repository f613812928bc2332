//! Echo requests and replies (RFC 792 p. 14, RFC 4443 section 4).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |     type      |   code = 0    |           checksum            |
//! +---------------+---------------+-------------------------------+
//! |          identifier           |           sequence            |
//! +-------------------------------+-------------------------------+
//! |  payload …                                                    |
//! ```

use std::net::IpAddr;

const HEADER: usize = 8;
/// Shortest IPv4 header (RFC 791 section 3.1); the low half of its first byte counts its 32-bit words.
const IP_HEADER: usize = 20;

/// The echoes of one socket.
#[derive(Clone, Copy)]
pub struct Echo {
    request: u8,
    reply: u8,
    /// Identifier that replies must have; `None` where the kernel sets it and sorts the replies.
    identifier: Option<u16>,
}

impl Echo {
    /// Echoes with a host.
    pub fn new(target: IpAddr, identifier: Option<u16>) -> Echo {
        match target {
            IpAddr::V4(_) => Echo { request: 8, reply: 0, identifier },
            IpAddr::V6(_) => Echo { request: 128, reply: 129, identifier },
        }
    }

    /// Writes a request. Kernels compute the checksum for datagram sockets and for `ICMPv6`; one that is there already
    /// does no harm.
    pub fn request(self, sequence: u16, payload: &[u8], packet: &mut Vec<u8>) {
        packet.clear();
        packet.extend_from_slice(&[self.request, 0, 0, 0]);
        packet.extend_from_slice(&self.identifier.unwrap_or(0).to_be_bytes());
        packet.extend_from_slice(&sequence.to_be_bytes());
        packet.extend_from_slice(payload);
        let sum = checksum(packet);
        packet[2..4].copy_from_slice(&sum.to_be_bytes());
    }

    /// The payload, if it is a reply to a request of ours.
    pub fn reply(self, packet: &mut [u8], with_ip_header: bool) -> Option<&mut [u8]> {
        let skip = if with_ip_header { usize::from(packet.first()? & 0x0f) * 4 } else { 0 };
        if with_ip_header && skip < IP_HEADER {
            return None;
        }
        let (header, payload) = packet.get_mut(skip..)?.split_at_mut_checked(HEADER)?;
        let identifier = u16::from_be_bytes([header[4], header[5]]);
        let ours = self.identifier.is_none_or(|ours| ours == identifier);
        (header[0] == self.reply && header[1] == 0 && ours).then_some(payload)
    }
}

/// The Internet checksum (RFC 1071) of a packet whose checksum field is 0.
fn checksum(packet: &[u8]) -> u16 {
    let (pairs, rest) = packet.as_chunks::<2>();
    let last = rest.first().map_or(0, |&byte| u32::from(byte) << 8);
    let sum: u32 =
        pairs.iter().map(|&pair| u32::from(u16::from_be_bytes(pair))).sum::<u32>() + last;
    // Two folds take any carry of 65,535 bytes.
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    let [_, _, high, low] = sum.to_be_bytes();
    !u16::from_be_bytes([high, low])
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn request(payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![9; 3];
        Echo::new(V4, Some(0x1234)).request(0xff01, payload, &mut packet);
        packet
    }

    #[test]
    fn a_request_is_laid_out_and_sums_to_zero() {
        let packet = request(b"abc");
        assert_eq!(packet[..2], [8, 0]);
        assert_eq!(packet[4..], [0x12, 0x34, 0xff, 0x01, b'a', b'b', b'c']);
        // Worked out by hand: 0800 + 1234 + ff01 + 6162 + 6300 = 1dd97, folded dd98, inverted 2267.
        assert_eq!(packet[2..4], [0x22, 0x67]);
        assert_eq!(checksum(&packet), 0);
        assert_eq!(checksum(&request(&vec![0xff; 65_507])), 0);
    }

    #[test]
    fn only_replies_to_our_requests_are_taken() {
        let echo = Echo::new(V4, Some(0x1234));
        let mut packet = request(b"abc");
        assert!(echo.reply(&mut packet, false).is_none(), "a request");
        packet[0] = 0;
        assert_eq!(echo.reply(&mut packet, false).unwrap(), b"abc");
        assert!(Echo::new(V4, Some(1)).reply(&mut packet, false).is_none(), "somebody else's");
        assert!(Echo::new(V4, None).reply(&mut packet, false).is_some());
        for cut in 0..HEADER {
            assert!(echo.reply(&mut packet[..cut], false).is_none());
        }
    }

    #[test]
    fn an_ip_header_of_any_length_is_skipped() {
        let echo = Echo::new(V4, Some(0x1234));
        for words in [5, 15] {
            let mut packet = vec![0; words * 4];
            packet[0] = 0x40 | u8::try_from(words).unwrap();
            packet.extend(request(b"abc"));
            packet[words * 4] = 0;
            assert_eq!(echo.reply(&mut packet, true).unwrap(), b"abc");
            packet[0] = 0x44;
            assert!(echo.reply(&mut packet, true).is_none());
        }
        for cut in 0..IP_HEADER + HEADER {
            let mut packet = vec![0x45; cut];
            assert!(echo.reply(&mut packet, true).is_none());
        }
    }
}
