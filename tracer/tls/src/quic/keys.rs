//! Keys of packets, and what they open (RFC 9001 §5).

use super::packet::{ProtectedPacket, QuicVersion, whole_number, window};
use crate::aead::{AeadKey, NONCE_LEN};
use crate::key_log::Secret;
use crate::schedule::expand_label;
use crate::suite::{AesSize, Cipher, Hash, Suite};
use ring::aead::quic;
use ring::hmac;
use std::fmt;
use std::ops::Range;

/// Bytes of a packet that its mask is made of, and where they begin behind the start of its number.
const SAMPLE_LEN: usize = 16;
const SAMPLE_AT: usize = 4;

/// The suite of the first packets.
const INITIAL: Suite = Suite { cipher: Cipher::Gcm(AesSize::Aes128), hash: Hash::Sha256 };

impl QuicVersion {
    /// The salt of the keys of the first packets.
    fn salt(self) -> [u8; 20] {
        match self {
            QuicVersion::V1 => [
                0x38, 0x76, 0x2C, 0xF7, 0xF5, 0x59, 0x34, 0xB3, 0x4D, 0x17, 0x9A, 0xE6, 0xA4, 0xC8,
                0x0C, 0xAD, 0xCC, 0xBB, 0x7F, 0x0A,
            ],
            QuicVersion::V2 => [
                0x0D, 0xED, 0xE3, 0xDE, 0xF7, 0x00, 0xA6, 0xDB, 0x81, 0x93, 0x81, 0xBE, 0x6E, 0x26,
                0x9D, 0xCB, 0xF9, 0xBD, 0x2E, 0xD9,
            ],
        }
    }

    /// The labels of a key, of its initialization vector, of the key of headers and of the next secret.
    fn labels(self) -> [&'static [u8]; 4] {
        match self {
            QuicVersion::V1 => [b"quic key", b"quic iv", b"quic hp", b"quic ku"],
            QuicVersion::V2 => [b"quicv2 key", b"quicv2 iv", b"quicv2 hp", b"quicv2 ku"],
        }
    }
}

/// The secrets of the first packets of client and server, whose connection's client first sent to this id.
pub fn initial_secrets(version: QuicVersion, destination: &[u8]) -> Option<[Secret; 2]> {
    let salt = hmac::Key::new(hmac::HMAC_SHA256, &version.salt());
    let common = Secret::new(hmac::sign(&salt, destination).as_ref())?;
    let secret = |label: &[u8]| {
        let mut secret = [0; 32];
        expand_label(Hash::Sha256, &common, label, &mut secret)?;
        Secret::new(&secret)
    };
    Some([secret(b"client in")?, secret(b"server in")?])
}

/// The key of the headers of one direction, which stays the same when keys are updated.
pub struct HeaderKey(quic::HeaderProtectionKey);

/// Says nothing of the key.
impl fmt::Debug for HeaderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeaderKey")
    }
}

/// The key of the payload of packets.
pub struct PayloadKey {
    key: AeadKey,
    iv: [u8; NONCE_LEN],
}

/// Says nothing of the key.
impl fmt::Debug for PayloadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

/// A packet without its protection of the header.
#[derive(Clone, Copy, Debug)]
pub struct BareHeader {
    /// The first byte.
    pub first: u8,
    number_at: usize,
    /// Bytes of the number.
    number_len: usize,
    /// The number's last bytes.
    number: u64,
}

impl BareHeader {
    /// The key phase of a packet with a short header.
    pub fn phase(self) -> bool {
        self.first & 4 != 0
    }

    /// The packet's whole number, if the largest so far is `largest`.
    pub fn number(self, largest: Option<u64>) -> u64 {
        whole_number(largest, self.number, self.number_len)
    }

    /// Distance of the numbers that the packet may have.
    pub fn window(self) -> u64 {
        window(self.number_len)
    }
}

impl HeaderKey {
    pub fn new(suite: Suite, version: QuicVersion, secret: &Secret) -> Option<HeaderKey> {
        let algorithm = match suite.cipher {
            Cipher::Gcm(AesSize::Aes128) | Cipher::Ccm(AesSize::Aes128, _) => &quic::AES_128,
            Cipher::Gcm(AesSize::Aes256) | Cipher::Ccm(AesSize::Aes256, _) => &quic::AES_256,
            Cipher::ChaCha20Poly1305 => &quic::CHACHA20,
            Cipher::Cbc(..) => return None,
        };
        let [_, _, label, _] = version.labels();
        let mut key = [0; 32];
        let key = key.get_mut(..suite.cipher.key_len())?;
        expand_label(suite.hash, secret, label, key)?;
        quic::HeaderProtectionKey::new(algorithm, key).ok().map(HeaderKey)
    }

    /// The header of a packet whose number begins at `number_at`; `None` if the packet is too short.
    pub fn bare(&self, packet: &[u8], number_at: usize) -> Option<BareHeader> {
        let behind = packet.get(number_at.checked_add(SAMPLE_AT)?..)?;
        let mask = self.0.new_mask(behind.get(..SAMPLE_LEN)?).ok()?;
        let [first_mask, number_mask @ ..] = mask;
        let first = *packet.first()?;
        let first = first ^ (first_mask & if first & 0x80 == 0 { 0x1F } else { 0x0F });
        let number_len = usize::from(first & 3).saturating_add(1);
        let sent = packet.get(number_at..number_at.checked_add(number_len)?)?;
        let bytes = sent.iter().zip(number_mask).map(|(byte, mask)| byte ^ mask);
        let number = bytes.fold(0, |number, byte| (number << 8) | u64::from(byte));
        Some(BareHeader { first, number_at, number_len, number })
    }
}

impl PayloadKey {
    pub fn new(suite: Suite, version: QuicVersion, secret: &Secret) -> Option<PayloadKey> {
        let [key_label, iv_label, ..] = version.labels();
        let (mut key, mut iv) = ([0; 32], [0; NONCE_LEN]);
        let key = key.get_mut(..suite.cipher.key_len())?;
        expand_label(suite.hash, secret, key_label, key)?;
        expand_label(suite.hash, secret, iv_label, &mut iv)?;
        Some(PayloadKey { key: AeadKey::new(suite.cipher, key)?, iv })
    }

    /// Opens the payload of the packet with this number into `scratch`. Returns where the payload lies there; `None` if the
    /// packet does not authenticate.
    pub fn open(
        &self,
        packet: &[u8],
        bare: BareHeader,
        number: u64,
        scratch: &mut Vec<u8>,
    ) -> Option<Range<usize>> {
        let header_len = bare.number_at.checked_add(bare.number_len)?;
        scratch.clear();
        scratch.extend_from_slice(packet);
        let (header, sealed) = scratch.split_at_mut_checked(header_len)?;
        *header.first_mut()? = bare.first;
        let sent = number.to_be_bytes();
        let sent = sent.get(sent.len().checked_sub(bare.number_len)?..)?;
        header.get_mut(bare.number_at..)?.copy_from_slice(sent);
        let mut nonce = self.iv;
        let (_, tail) = nonce.split_at_mut(4);
        tail.iter_mut().zip(number.to_be_bytes()).for_each(|(to, from)| *to ^= from);
        let len = self.key.open(nonce, header, sealed)?;
        Some(header_len..header_len.checked_add(len)?)
    }
}

/// The secret after an update of keys (RFC 9001 §6.1).
pub fn updated(suite: Suite, version: QuicVersion, secret: &Secret) -> Option<Secret> {
    let [.., label] = version.labels();
    let mut next = [0; 48];
    let next = next.get_mut(..suite.hash.len())?;
    expand_label(suite.hash, secret, label, next)?;
    Secret::new(next)
}

/// Keys of the first packets of one direction.
#[derive(Debug)]
pub struct InitialKey {
    header: HeaderKey,
    payload: PayloadKey,
}

impl InitialKey {
    pub fn new(version: QuicVersion, secret: &Secret) -> Option<InitialKey> {
        let header = HeaderKey::new(INITIAL, version, secret)?;
        Some(InitialKey { header, payload: PayloadKey::new(INITIAL, version, secret)? })
    }

    /// Opens an Initial packet into `scratch`. Returns its number and where its payload lies.
    pub fn open(
        &self,
        packet: &ProtectedPacket<'_>,
        largest: Option<u64>,
        scratch: &mut Vec<u8>,
    ) -> Option<(u64, Range<usize>)> {
        let bare = self.header.bare(packet.bytes, packet.number_at)?;
        let number = bare.number(largest);
        Some((number, self.payload.open(packet.bytes, bare, number, scratch)?))
    }
}

/// Packets for tests.
#[cfg(test)]
pub mod sealing {
    use super::{HeaderKey, PayloadKey, SAMPLE_AT, SAMPLE_LEN};

    impl HeaderKey {
        /// Protects the header of a packet whose number begins at `number_at`, as opposed to [`HeaderKey::bare`].
        pub fn protect(&self, packet: &mut [u8], number_at: usize) {
            let number_len = usize::from(packet[0] & 3) + 1;
            let sample = &packet[number_at + SAMPLE_AT..][..SAMPLE_LEN];
            let mask = self.0.new_mask(sample).unwrap();
            packet[0] ^= mask[0] & if packet[0] & 0x80 == 0 { 0x1F } else { 0x0F };
            for (byte, mask) in packet[number_at..][..number_len].iter_mut().zip(&mask[1..]) {
                *byte ^= mask;
            }
        }
    }

    impl PayloadKey {
        /// The packet of this header, which ends with the number's last bytes.
        pub fn seal(&self, header: &[u8], number: u64, payload: &[u8]) -> Vec<u8> {
            let mut nonce = self.iv;
            for (to, from) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
                *to ^= from;
            }
            let mut sealed = payload.to_vec();
            self.key.seal(nonce, header, &mut sealed);
            [header, &sealed].concat()
        }
    }
}
