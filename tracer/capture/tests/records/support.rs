//! Records under construction, and what they are read as.

use std::net::SocketAddr;
use wirelap_capture::decode::decode;
use wirelap_ebpf::layout::{self as l, wl_flow, wl_head, wl_task};
use wirelap_events::{Body, Cpu, Event, FlowKey, Nanos, NetNs, Pid, TaskId, Tid, Transport};

pub const TASK: TaskId = TaskId { pid: Pid(71), tid: Tid(72) };

/// A record under construction.
pub struct Record(pub Vec<u8>);

impl Record {
    pub fn new(kind: u32, size: usize) -> Record {
        let mut record = Record(vec![0; size]);
        record.put(wl_head::AT, &1_234_u64.to_ne_bytes());
        record.put(wl_head::CPU, &5_u16.to_ne_bytes());
        record.put(wl_head::KIND, &[u8::try_from(kind).unwrap()]);
        record
    }

    pub fn put(&mut self, at: usize, bytes: &[u8]) -> &mut Record {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub fn u32(&mut self, at: usize, value: u32) -> &mut Record {
        self.put(at, &value.to_ne_bytes())
    }

    pub fn u64(&mut self, at: usize, value: u64) -> &mut Record {
        self.put(at, &value.to_ne_bytes())
    }

    pub fn task(&mut self, at: usize) -> &mut Record {
        self.u32(at + wl_task::PID, 71).u32(at + wl_task::TID, 72)
    }

    /// 10.0.0.1:1000 → 10.0.0.2:2000 in namespace 9.
    pub fn flow(&mut self, at: usize, transport: u8) -> &mut Record {
        self.put(at + wl_flow::SRC, &[10, 0, 0, 1])
            .put(at + wl_flow::DST, &[10, 0, 0, 2])
            .put(at + wl_flow::SPORT, &1000_u16.to_ne_bytes())
            .put(at + wl_flow::DPORT, &2000_u16.to_ne_bytes())
            .put(at + wl_flow::FAMILY, &[4])
            .put(at + wl_flow::TRANSPORT, &[transport])
            .u32(at + wl_flow::NETNS, 9)
    }

    pub fn body(&self) -> Body<'_> {
        let Event { at, cpu, body } = decode(&self.0).unwrap();
        assert_eq!((at, cpu), (Nanos(1_234), Cpu(5)));
        body
    }
}

pub fn addresses() -> (SocketAddr, SocketAddr) {
    ("10.0.0.1:1000".parse().unwrap(), "10.0.0.2:2000".parse().unwrap())
}

pub fn key(transport: Transport) -> FlowKey {
    let (src, dst) = addresses();
    FlowKey::new(transport, src, dst, NetNs(9))
}

pub fn socket() -> Record {
    use l::wl_socket as f;
    let mut record = Record::new(l::WL_SOCKET, f::SIZE);
    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_HAS_SEQ).unwrap()]);
    record.u64(f::COOKIE, 42).task(f::TASK).put(f::COMM, b"mosquitto").flow(f::FLOW, 6);
    record.u32(f::TX_NEXT, 7).u32(f::RX_NEXT, 8).u32(f::ORIGIN, l::WL_ORIGIN_ACCEPTED);
    record
}

pub fn packet(kind: u32, transport: u8, payload: &[u8]) -> Record {
    use l::wl_packet as f;
    let mut record = Record::new(kind, f::SIZE);
    record.u32(wl_head::CAPTURED, u32::try_from(payload.len()).unwrap());
    record.u64(f::ID, 0xabc).u64(f::COOKIE, 42).task(f::TASK).u64(f::QUEUED, 1_200);
    record.flow(f::FLOW, transport).u32(f::DEVICE, 2).u32(f::WIRE_BYTES, 166);
    record.u32(f::PAYLOAD_LEN, 100).u32(f::SEQ, 11).u32(f::ACK, 12);
    record.put(f::WINDOW, &500_u16.to_ne_bytes()).put(f::QUEUE, &3_u16.to_ne_bytes());
    record.put(f::SEGMENTS, &1_u16.to_ne_bytes()).put(f::LINK_HEADER, &14_u16.to_ne_bytes());
    record.put(f::IP_HEADER, &20_u16.to_ne_bytes()).put(f::TRANSPORT_HEADER, &[32]);
    record.put(f::TCP_FLAGS, &[0x18]);
    record.0.extend_from_slice(payload);
    record
}
