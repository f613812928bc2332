//! Reads the fields of a record.

use super::malformed::Malformed;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wirelap_ebpf::layout::{wl_flow, wl_head, wl_task};
use wirelap_events::{FlowKey, Nanos, NetNs, PacketId, Pid, SocketId, TaskId, Tid, Transport};

/// The bytes of a record, at least as long as the struct that they are read as.
#[derive(Clone, Copy)]
pub(super) struct RecordBytes<'a>(&'a [u8]);

impl<'a> RecordBytes<'a> {
    /// Checks that a record has at least `needed` bytes.
    pub fn checked(bytes: &'a [u8], kind: u8, needed: usize) -> Result<RecordBytes<'a>, Malformed> {
        let got = bytes.len();
        bytes.get(..needed).map(RecordBytes).ok_or(Malformed::Short { kind, needed, got })
    }

    /// The bytes of a field. They are zero beyond the end, which cannot happen after [`RecordBytes::checked`].
    pub fn bytes<const N: usize>(self, at: usize) -> [u8; N] {
        self.0.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }

    pub fn u8(self, at: usize) -> u8 {
        self.bytes::<1>(at)[0]
    }

    pub fn u16(self, at: usize) -> u16 {
        u16::from_ne_bytes(self.bytes(at))
    }

    pub fn u32(self, at: usize) -> u32 {
        u32::from_ne_bytes(self.bytes(at))
    }

    pub fn u64(self, at: usize) -> u64 {
        u64::from_ne_bytes(self.bytes(at))
    }

    pub fn kind(self) -> u8 {
        self.u8(wl_head::KIND)
    }

    pub fn flag(self, flag: u32) -> bool {
        u32::from(self.u8(wl_head::FLAGS)) & flag != 0
    }

    pub fn socket(self, at: usize) -> SocketId {
        SocketId(self.u64(at))
    }

    pub fn task(self, at: usize) -> TaskId {
        TaskId { pid: Pid(self.u32(at + wl_task::PID)), tid: Tid(self.u32(at + wl_task::TID)) }
    }

    pub fn time(self, at: usize) -> Option<Nanos> {
        Some(Nanos(self.u64(at))).filter(|time| time.0 != 0)
    }

    pub fn packet_id(self, at: usize) -> Option<PacketId> {
        Some(PacketId(self.u64(at))).filter(|id| id.0 != 0)
    }

    pub fn impossible(self, field: &'static str, value: u32) -> Malformed {
        Malformed::Value { kind: self.kind(), field, value }
    }

    pub fn flow(self, at: usize) -> Result<RawFlow, Malformed> {
        let family = self.u8(at + wl_flow::FAMILY);
        let address = |at: usize| match family {
            4 => Ok(IpAddr::from(Ipv4Addr::from(self.bytes::<4>(at)))),
            6 => Ok(IpAddr::from(Ipv6Addr::from(self.bytes::<16>(at)))),
            other => Err(self.impossible("address family", other.into())),
        };
        let transport = match self.u8(at + wl_flow::TRANSPORT) {
            6 => Transport::Tcp,
            17 => Transport::Udp,
            other => return Err(self.impossible("transport protocol", other.into())),
        };
        Ok(RawFlow {
            transport,
            src: SocketAddr::new(address(at + wl_flow::SRC)?, self.u16(at + wl_flow::SPORT)),
            dst: SocketAddr::new(address(at + wl_flow::DST)?, self.u16(at + wl_flow::DPORT)),
            netns: NetNs(self.u32(at + wl_flow::NETNS)),
        })
    }
}

/// A `struct wl_flow`.
pub(super) struct RawFlow {
    pub transport: Transport,
    pub src: SocketAddr,
    pub dst: SocketAddr,
    pub netns: NetNs,
}

impl RawFlow {
    pub fn key(&self) -> FlowKey {
        FlowKey::new(self.transport, self.src, self.dst, self.netns)
    }
}
