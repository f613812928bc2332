//! The kinds of submessages.

/// The kind of a submessage (DDSI-RTPS 2.5 §9.4.5.1.1, DDS Security 1.1 §7.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubmessageKind {
    HeaderExtension,
    Pad,
    AckNack,
    Heartbeat,
    Gap,
    InfoTs,
    InfoSrc,
    InfoReplyIp4,
    InfoDst,
    InfoReply,
    NackFrag,
    HeartbeatFrag,
    Data,
    DataFrag,
    /// Samples of a writer with several channels (RTI Connext DDS).
    DataSession,
    /// Several samples together (RTI Connext DDS).
    DataBatch,
    SecBody,
    SecPrefix,
    SecPostfix,
    SrtpsPrefix,
    SrtpsPostfix,
    /// IDs reserved for later versions of the protocol.
    Reserved,
    /// IDs from 0x80 on, which vendors define.
    Vendor,
}

impl SubmessageKind {
    pub fn from_id(id: u8) -> SubmessageKind {
        match id {
            0x00 => SubmessageKind::HeaderExtension,
            0x01 => SubmessageKind::Pad,
            0x06 => SubmessageKind::AckNack,
            0x07 => SubmessageKind::Heartbeat,
            0x08 => SubmessageKind::Gap,
            0x09 => SubmessageKind::InfoTs,
            0x0c => SubmessageKind::InfoSrc,
            0x0d => SubmessageKind::InfoReplyIp4,
            0x0e => SubmessageKind::InfoDst,
            0x0f => SubmessageKind::InfoReply,
            0x12 => SubmessageKind::NackFrag,
            0x13 => SubmessageKind::HeartbeatFrag,
            0x14 => SubmessageKind::DataSession,
            0x15 => SubmessageKind::Data,
            0x16 => SubmessageKind::DataFrag,
            0x18 => SubmessageKind::DataBatch,
            0x30 => SubmessageKind::SecBody,
            0x31 => SubmessageKind::SecPrefix,
            0x32 => SubmessageKind::SecPostfix,
            0x33 => SubmessageKind::SrtpsPrefix,
            0x34 => SubmessageKind::SrtpsPostfix,
            0x80.. => SubmessageKind::Vendor,
            _ => SubmessageKind::Reserved,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            SubmessageKind::HeaderExtension => "RTPS_HE",
            SubmessageKind::Pad => "PAD",
            SubmessageKind::AckNack => "ACKNACK",
            SubmessageKind::Heartbeat => "HEARTBEAT",
            SubmessageKind::Gap => "GAP",
            SubmessageKind::InfoTs => "INFO_TS",
            SubmessageKind::InfoSrc => "INFO_SRC",
            SubmessageKind::InfoReplyIp4 => "INFO_REPLY_IP4",
            SubmessageKind::InfoDst => "INFO_DST",
            SubmessageKind::InfoReply => "INFO_REPLY",
            SubmessageKind::NackFrag => "NACK_FRAG",
            SubmessageKind::HeartbeatFrag => "HEARTBEAT_FRAG",
            SubmessageKind::Data => "DATA",
            SubmessageKind::DataFrag => "DATA_FRAG",
            SubmessageKind::DataSession => "DATA_SESSION",
            SubmessageKind::DataBatch => "DATA_BATCH",
            SubmessageKind::SecBody => "SEC_BODY",
            SubmessageKind::SecPrefix => "SEC_PREFIX",
            SubmessageKind::SecPostfix => "SEC_POSTFIX",
            SubmessageKind::SrtpsPrefix => "SRTPS_PREFIX",
            SubmessageKind::SrtpsPostfix => "SRTPS_POSTFIX",
            SubmessageKind::Reserved => "RESERVED",
            SubmessageKind::Vendor => "VENDOR",
        }
    }

    /// True if a length of 0 is an empty body, and does not mean "to the end of the message".
    pub fn may_be_empty(self) -> bool {
        matches!(self, SubmessageKind::Pad | SubmessageKind::InfoTs)
    }
}
