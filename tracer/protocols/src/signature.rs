//! What stands at one place of a flow, judged without knowing anything else of it.
//!
//! The weight of the evidence is counted in bits: `n` bits say that one of 2ⁿ random byte strings would
//! look the same. Evidence of several PDUs that follow each other adds up, see [`Search`](crate::Search).

/// What a protocol sees in the bytes at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// No PDU of this protocol starts here.
    No,
    /// There are too few bytes to tell.
    Short,
    /// This may start here.
    Pdu(Sight),
}

/// A PDU that may start at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Bytes of the PDU, header included; never 0.
    pub len: u64,
    /// How much its content tells, in bits.
    pub bits: u32,
    /// Whether it could hardly be anything else's. The evidence of short PDUs without this, such as acknowledgements, does
    /// not add up without end: what looks like one of them does so each time.
    pub telling: bool,
    /// What the next PDU of the same sender is likely to have one more of: a lane, and a number in it.
    pub number: Option<(u64, u64)>,
}

impl Sight {
    /// A PDU of `len` bytes with so much evidence in it.
    pub fn new(len: u64, bits: u32) -> Sight {
        Sight { len, bits, telling: true, number: None }
    }

    /// The same, when it is too short to tell by itself.
    #[must_use]
    pub fn weak(self) -> Sight {
        Sight { telling: false, ..self }
    }

    /// The same, with a number that the next one counts up from.
    #[must_use]
    pub fn numbered(self, lane: u64, number: u64) -> Sight {
        Sight { number: Some((lane, number)), ..self }
    }
}

/// The evidence in `text` that random bytes would not be: printable ASCII is one byte in 2.7.
pub(crate) fn text_bits(text: &[u8]) -> u32 {
    u32::try_from(text.len().min(24)).map_or(0, |len| len.saturating_mul(7) / 5)
}
