//! Match of the start of a PDU at one position of a flow, judged by its bytes alone.
//!
//! Evidence is counted in bits: with `n` bits, one of 2ⁿ random byte strings would look the same. The evidence of
//! consecutive PDUs is added up, see [`ProtocolSearch`](crate::ProtocolSearch).

/// Result of comparing the bytes at one position with the PDUs of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureMatch {
    /// No PDU of this protocol starts here.
    No,
    /// There are too few bytes to decide.
    Short,
    /// A PDU with this signature may start here.
    Pdu(PduSignature),
}

/// A PDU that may start at one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PduSignature {
    /// Bytes of the PDU, including its header; never 0.
    pub len: u64,
    /// The evidence in the PDU's content, in bits.
    pub bits: u32,
    /// True if the PDU is unlikely to be of another protocol. The evidence of PDUs that are not distinctive, such as
    /// acknowledgements, is limited: if bytes of another protocol look like one of them, they do so each time.
    pub distinctive: bool,
    /// A counter that is likely to be one more in the next PDU of the same sender: which counter, and its value.
    pub number: Option<(u64, u64)>,
}

impl PduSignature {
    /// A distinctive PDU of `len` bytes with `bits` of evidence.
    pub fn new(len: u64, bits: u32) -> PduSignature {
        PduSignature { len, bits, distinctive: true, number: None }
    }

    /// This signature, of a PDU too short to be distinctive.
    #[must_use]
    pub fn weak(self) -> PduSignature {
        PduSignature { distinctive: false, ..self }
    }

    /// This signature with the value of a counter, which is one more in the next PDU.
    #[must_use]
    pub fn numbered(self, counter: u64, number: u64) -> PduSignature {
        PduSignature { number: Some((counter, number)), ..self }
    }
}

/// The evidence in `text`, in bits: of random bytes, one in 2.7 is printable ASCII.
pub(crate) fn text_bits(text: &[u8]) -> u32 {
    u32::try_from(text.len().min(24)).map_or(0, |len| len.saturating_mul(7) / 5)
}
