//! Security policies: whether a channel's messages are encrypted (OPC 10000-6 §6.7.2, OPC 10000-7 §6.6.161 ff.).
//!
//! OPN names the policy in plain text. With a policy other than None, the body of OPN is encrypted, and with it the mode
//! (Sign or `SignAndEncrypt`). The first message shows the mode: if it is only signed, it can be decoded, except for the
//! signature at its end.

use super::fields::{FieldError, OpcuaFields};

const PREFIX: &[u8] = b"http://opcfoundation.org/UA/SecurityPolicy#";

/// Knowledge of a channel's security policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Policy {
    /// OPN was not captured.
    #[default]
    Unknown,
    None,
    /// Messages are signed and possibly encrypted; a signature has this many bytes.
    Secured(u64),
}

impl Policy {
    /// The policy that an OPN names, after its header and the channel's number.
    pub fn read(fields: &mut OpcuaFields<'_>) -> Result<Policy, FieldError> {
        let uri = fields.text()?;
        let name = uri.strip_prefix(PREFIX).ok_or(FieldError::Malformed)?;
        Ok(match name {
            b"None" => Policy::None,
            b"Basic128Rsa15" | b"Basic256" => Policy::Secured(20),
            b"ECC_nistP384" | b"ECC_brainpoolP384r1" => Policy::Secured(48),
            b"ECC_curve25519" | b"ECC_curve448" => Policy::Secured(16),
            _ => Policy::Secured(32),
        })
    }

    /// Number of bytes after a message's body.
    pub fn footer_bytes(self) -> u64 {
        match self {
            Policy::Unknown | Policy::None => 0,
            Policy::Secured(bytes) => bytes,
        }
    }
}
