//! Secrets → keys: the key schedules of TLS 1.3 (RFC 8446 §7.1, §7.3) and TLS 1.2 (RFC 5246 §5, §6.3).

use crate::aead::NONCE_LEN;
use crate::cbc::MacOrder;
use crate::key::{KeyMaterial, NonceForm, RecordForm};
use crate::key_log::{Random, Secret};
use crate::role::TlsRole;
use crate::suite::{Cipher, Hash, Suite};
use ring::{hkdf, hmac};

/// Prefix of each label of TLS 1.3.
const PREFIX: &[u8] = b"tls13 ";

/// The key that a traffic secret gives; `None` for a secret whose length is not that of the suite's hash.
pub fn tls13_key(suite: Suite, secret: &Secret) -> Option<KeyMaterial> {
    let mut material = KeyMaterial::new(suite.cipher, RecordForm::Aead(NonceForm::Tls13));
    expand_label(suite.hash, secret, b"key", material.key_mut())?;
    expand_label(suite.hash, secret, b"iv", &mut material.iv)?;
    Some(material)
}

/// The traffic secret after a key update (RFC 8446 §7.2).
pub fn updated(suite: Suite, secret: &Secret) -> Option<Secret> {
    let mut next = [0; 48];
    let next = next.get_mut(..suite.hash.len())?;
    expand_label(suite.hash, secret, b"traffic upd", next)?;
    Secret::new(next)
}

/// `HKDF-Expand-Label` without a context.
pub fn expand_label(hash: Hash, secret: &Secret, label: &[u8], out: &mut [u8]) -> Option<()> {
    struct Len(usize);
    impl hkdf::KeyType for Len {
        fn len(&self) -> usize {
            self.0
        }
    }
    if secret.bytes().len() != hash.len() {
        return None;
    }
    let len = u16::try_from(out.len()).ok()?.to_be_bytes();
    let label_len = [u8::try_from(PREFIX.len().saturating_add(label.len())).ok()?];
    let info: [&[u8]; 5] = [&len, &label_len, PREFIX, label, &[0]];
    let secret = hkdf::Prk::new_less_safe(hash.hkdf(), secret.bytes());
    secret.expand(&info, Len(out.len())).ok()?.fill(out).ok()
}

/// The keys of client and server that a master secret gives. In CBC mode, a record is authenticated in this order.
pub fn tls12_keys(
    suite: Suite,
    order: MacOrder,
    master: &Secret,
    client: &Random,
    server: &Random,
) -> [KeyMaterial; 2] {
    let (form, iv_len) = match suite.cipher {
        Cipher::Gcm(_) | Cipher::Ccm(..) => (RecordForm::Aead(NonceForm::Tls12Explicit), 4),
        Cipher::ChaCha20Poly1305 => (RecordForm::Aead(NonceForm::Tls12), NONCE_LEN),
        Cipher::Cbc(..) => (RecordForm::Cbc(order), 0),
    };
    // Two keys of each kind and two nonces at most.
    let mut block = [0; 2 * (48 + 32 + NONCE_LEN)];
    prf(suite.hash, master, b"key expansion", [server, client], &mut block);
    let mut rest = &block[..];
    let mut fill = |part: &mut [u8]| {
        let (taken, behind) = rest.split_at_checked(part.len()).unwrap_or_default();
        rest = behind;
        part.iter_mut().zip(taken).for_each(|(to, from)| *to = *from);
    };
    let mut keys = [TlsRole::Client, TlsRole::Server].map(|_| KeyMaterial::new(suite.cipher, form));
    for key in &mut keys {
        fill(key.mac_key_mut());
    }
    for key in &mut keys {
        fill(key.key_mut());
    }
    for key in &mut keys {
        fill(key.iv.get_mut(..iv_len).unwrap_or_default());
    }
    keys
}

/// The pseudorandom function of TLS 1.2.
fn prf(hash: Hash, secret: &Secret, label: &[u8], seed: [&Random; 2], out: &mut [u8]) {
    let key = hmac::Key::new(hash.hmac(), secret.bytes());
    let signed = |front: &[u8], with_seed: bool| {
        let mut context = hmac::Context::with_key(&key);
        context.update(front);
        if with_seed {
            context.update(label);
            for part in seed {
                context.update(part);
            }
        }
        context.sign()
    };
    let mut round = signed(&[], true);
    for part in out.chunks_mut(hash.len()) {
        let bytes = signed(round.as_ref(), true);
        part.iter_mut().zip(bytes.as_ref()).for_each(|(to, from)| *to = *from);
        round = signed(round.as_ref(), false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pseudorandom_function_is_its_definition() {
        let secret = Secret::new(&[7; 48]).unwrap();
        let mut out = [0; 80];
        prf(Hash::Sha256, &secret, b"test label", [&[1; 32], &[2; 32]], &mut out);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &[7; 48]);
        let seed = [&b"test label"[..], &[1; 32], &[2; 32]].concat();
        let a1 = hmac::sign(&key, &seed);
        let a2 = hmac::sign(&key, a1.as_ref());
        let p1 = hmac::sign(&key, &[a1.as_ref(), &seed].concat());
        let p2 = hmac::sign(&key, &[a2.as_ref(), &seed].concat());
        assert_eq!(out[..32], *p1.as_ref());
        assert_eq!(out[32..64], *p2.as_ref());
    }
}
