//! The numbers of another host's events, as none of the first host's are.

use wirelap_events::{
    Body, CgroupId, DroppedPacket, Event, FlowKey, Holder, LostEvents, NetNs, PacketId, PlainText,
    ProcessEnd, Quota, ReadCall, ReadKind, Ready, ReadyKind, Retransmit, SendCall, Socket,
    SocketId, TaskId, ThreadState, Wake, WrittenBytes,
};

/// The network namespace that the packets of a host's capture are in, where the capture names none: 1 for the first host.
pub fn netns_on(host: u8) -> NetNs {
    NetNs(0).on_host(host)
}

/// A network namespace of a host, as its events have it where those of several hosts are put together.
pub fn namespace_on(host: u8, netns: NetNs) -> NetNs {
    netns.on_host(host)
}

/// Numbers that one host gives by itself, as those of the `number`th host: 1 for the first, which keeps them.
#[derive(Clone, Copy, Debug)]
pub struct Renumbering {
    number: u8,
}

impl Renumbering {
    /// The renumbering of a host: 1 for the first.
    pub fn of(number: u8) -> Renumbering {
        Renumbering { number }
    }

    /// Renumbers an event.
    #[expect(
        clippy::too_many_lines,
        reason = "every field of every event, so that a new one is not forgotten"
    )]
    pub fn renumber(self, event: &mut Event<'_>) {
        if self.number <= 1 {
            return;
        }
        event.cpu = event.cpu.on_host(self.number);
        match &mut event.body {
            Body::Socket(Socket {
                id,
                netns,
                task,
                transport: _,
                local: _,
                remote: _,
                comm: _,
                origin: _,
                tx_next: _,
                rx_next: _,
                is_subflow: _,
            }) => {
                self.socket(id);
                self.namespace(netns);
                self.thread(task);
            }
            Body::State(ThreadState { task, activity: _, cpu_time: _, waited: _, ran: _ })
            | Body::Ended(ProcessEnd { task, status: _, out_of_memory: _ }) => self.thread(task),
            Body::Closed(id)
            | Body::Retransmit(Retransmit { socket: id, start: _, len: _, recovery: _ }) => {
                self.socket(id);
            }
            Body::Send(SendCall { socket: id, task, kind: _ }) => {
                self.socket(id);
                self.thread(task);
            }
            Body::Read(ReadCall { socket: id, task, kind }) => {
                self.socket(id);
                self.thread(task);
                match kind {
                    ReadKind::Datagram { packet: memory, seen: _, flow: key, len: _ } => {
                        if let Some(id) = memory {
                            self.packet(id);
                        }
                        if let Some(key) = key {
                            self.flow(key);
                        }
                    }
                    ReadKind::Stream { end: _, len: _ } => {}
                }
            }
            Body::Ready(Ready { socket: id, kind }) => {
                self.socket(id);
                match kind {
                    ReadyKind::Datagram { packet: memory, seen: _ } => {
                        if let Some(id) = memory {
                            self.packet(id);
                        }
                    }
                    ReadyKind::Stream(_) => {}
                }
            }
            Body::Packet(seen) => {
                self.packet(&mut seen.id);
                seen.socket.iter_mut().for_each(|id| self.socket(id));
                self.thread(&mut seen.task);
                self.namespace(&mut seen.netns);
                self.flow(&mut seen.flow);
            }
            Body::Wake(Wake {
                task,
                waker,
                holder: Holder { task: holder, comm: _, held: _ },
                reason: _,
                left: _,
                woken: _,
                from_irq: _,
                migrated: _,
                missed: _,
                others,
                rest: _,
                throttled: _,
                cgroup,
                sleep: _,
                waker_comm: _,
            }) => {
                let others = others.iter_mut().map(|other| &mut other.task);
                [task, waker, holder].into_iter().chain(others).for_each(|task| self.thread(task));
                self.cgroup(cgroup);
            }
            Body::Quota(Quota {
                cgroup,
                task,
                name: _,
                is_v2: _,
                quota: _,
                period: _,
                periods: _,
                throttled_periods: _,
                throttled: _,
            }) => {
                self.cgroup(cgroup);
                self.thread(task);
            }
            Body::Drop(DroppedPacket {
                flow: key,
                cause: _,
                reason: _,
                len: _,
                outward: _,
                queued: _,
                tcp: _,
                netns,
                mtu: _,
            }) => {
                self.flow(key);
                self.namespace(netns);
            }
            Body::Plain(PlainText { socket, task, place: _, text_start: _, len: _, text: _ }) => {
                self.socket(socket);
                self.thread(task);
            }
            Body::Written(WrittenBytes { socket, start: _, len: _, bytes: _ }) => {
                self.socket(socket);
            }
            Body::Lost(LostEvents { probe: _, count: _, cause: _ })
            | Body::Window(_)
            | Body::Waiting(_) => {}
        }
    }

    fn socket(self, id: &mut SocketId) {
        *id = id.on_host(self.number);
    }

    fn cgroup(self, id: &mut CgroupId) {
        *id = id.on_host(self.number);
    }

    fn packet(self, id: &mut PacketId) {
        *id = id.on_host(self.number);
    }

    fn namespace(self, netns: &mut NetNs) {
        *netns = netns.on_host(self.number);
    }

    fn thread(self, task: &mut TaskId) {
        *task = TaskId { pid: task.pid.on_host(self.number), tid: task.tid.on_host(self.number) };
    }

    /// Renumbers a flow's scope: a namespace's flow stays within the namespace of its host.
    fn flow(self, key: &mut FlowKey) {
        let mut scope = key.scope;
        self.namespace(&mut scope);
        *key = FlowKey::new(key.transport, key.src, key.dst, scope);
    }
}

#[cfg(test)]
mod tests;
