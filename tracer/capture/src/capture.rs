//! The running capture.

use crate::attach::{self, Attached, Links};
use crate::decode::UnixConnection;
use crate::hooks::{self, AttachTime, ChosenHook, ObservationHook};
use crate::stash::PayloadStash;
use crate::{AttachError, CaptureError, Config, clock, decode, filter, kernel};
use aya::maps::{Array, HashMap, MapData, MapError, PerCpuArray, RingBuf};
use aya::{Ebpf, Pod};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::thread::CapabilitySet;
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};
use wirelap_events::{
    Body, Comm, Cpu, Event, Lost, Packet, PacketHook, Pid, Probe, SendCall, SendKind, Wake,
};

/// How often the ring buffer is polled while it is empty. The probes do not wake the reader, because a wakeup would cost the
/// traced program more than the record.
const TICK: Duration = Duration::from_millis(1);
/// How often the ring buffer is polled after it has been empty for [`IDLE_AFTER`] polls.
const IDLE_TICK: Duration = Duration::from_millis(5);
/// After how many empty polls the ring buffer counts as idle.
const IDLE_AFTER: u32 = 20;
/// How often the counters of lost events are read.
const LOSS_CHECK: Duration = Duration::from_millis(20);

/// The counters of a probe since it was attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeCounters {
    /// The probe.
    pub probe: Probe,
    /// Events that [`Capture::poll`] has given to its caller.
    pub emitted: u64,
    /// How often the probe ran for something that the filter excludes.
    pub filtered: u64,
    /// Events lost because the ring buffer was full.
    pub lost: u64,
}

/// About the most events of one [`Capture::poll`], so that a caller can do its other work even if events arrive as fast as they
/// are taken. The number is small because one event can carry 64 KiB of payload with thousands of messages.
pub const MAX_BATCH: usize = 256;

/// Attached probes. Dropping this value detaches them, and so does the end of the process, even if it is killed.
pub struct Capture {
    ring: RingBuf<MapData>,
    ebpf: Ebpf,
    links: Links,
    /// Programs that [`Capture::detach`] has detached.
    detached: Vec<&'static str>,
    hooks: Vec<ChosenHook>,
    later: Vec<(AttachTime, &'static ObservationHook)>,
    stash: Option<PayloadStash>,
    filtered: bool,
    generation: u32,
    /// How often the probes were attached.
    attachment: u32,
    /// How often the probes began to report (windows).
    windows: u32,
    open: bool,
    emitted: [u64; Probe::ALL.len()],
    lost: [u64; Probe::ALL.len()],
    next_loss_check: Instant,
    empty_ticks: u32,
    /// Events that are made here and not by the probes, in order of time.
    pending: VecDeque<Event<'static>>,
    /// The process id of this process.
    own: Pid,
}

impl Capture {
    /// Loads the probes and attaches each observation with the best hook that this kernel offers.
    ///
    /// The first events list the sockets that are already open.
    ///
    /// # Errors
    /// [`AttachError`], a sentence that tells what is missing and the remedy.
    pub fn attach(config: &Config) -> Result<Capture, AttachError> {
        let Attached { mut ebpf, links, hooks, later, joins_payload } = attach::attach(config)?;
        let ring = ebpf.take_map("ring").ok_or(CaptureError::NoMap("ring"))?;
        let ring = RingBuf::try_from(ring).map_err(map_error("ring"))?;
        let mut capture = Capture {
            ring,
            ebpf,
            links,
            detached: Vec::new(),
            hooks,
            later,
            stash: joins_payload.then(PayloadStash::default),
            filtered: config.is_filtered(),
            generation: 0,
            attachment: 0,
            windows: 1,
            open: false,
            emitted: [0; Probe::ALL.len()],
            lost: [0; Probe::ALL.len()],
            next_loss_check: Instant::now(),
            empty_ticks: 0,
            pending: VecDeque::new(),
            own: Pid(std::process::id()),
        };
        for &port in &config.ports {
            capture.want_port(port)?;
        }
        for &pid in &config.pids {
            capture.want_tree(pid)?;
        }
        // The new generation makes the probes check sockets again that they have seen while the filter was incomplete.
        capture.generation = 1;
        capture.write_settings()?;
        capture.list_existing()?;
        capture.open = true;
        capture.write_settings()?;
        Ok(capture)
    }

    /// Takes events out of the ring buffer and calls `sink` for each, in order. Waits up to `timeout` if there is none. Returns
    /// the number of events; [`MAX_BATCH`] or more mean that the ring buffer may not be empty yet.
    ///
    /// # Errors
    /// [`CaptureError::Record`] for a record that cannot be read, which means that the probes and this program are of different
    /// builds. [`CaptureError::Wait`] and [`CaptureError::Map`] for errors of the kernel.
    pub fn poll(
        &mut self,
        timeout: Duration,
        sink: &mut dyn FnMut(&Event<'_>),
    ) -> Result<usize, CaptureError> {
        let deadline = Instant::now() + timeout;
        loop {
            let count = self.drain(sink)? + self.report_lost(sink)?;
            let now = Instant::now();
            if count > 0 {
                self.empty_ticks = 0;
                return Ok(count);
            }
            if now >= deadline {
                return Ok(0);
            }
            self.empty_ticks = self.empty_ticks.saturating_add(1);
            let tick = if self.empty_ticks > IDLE_AFTER { IDLE_TICK } else { TICK };
            self.wait(tick.min(deadline - now))?;
        }
    }

    /// The counters of each probe.
    pub fn counters(&self) -> Vec<ProbeCounters> {
        let sums = self.read_counters().unwrap_or_default();
        Probe::ALL
            .into_iter()
            .map(|probe| {
                let [filtered, lost] = sums[probe as usize];
                ProbeCounters { probe, emitted: self.emitted[probe as usize], filtered, lost }
            })
            .collect()
    }

    /// Starts to trace a process and its children. Without a filter, all processes are traced already and this changes nothing.
    ///
    /// # Errors
    /// [`CaptureError::NoProcess`] if there is no such process.
    pub fn add_pid(&mut self, pid: Pid) -> Result<(), CaptureError> {
        if !Path::new("/proc").join(pid.0.to_string()).exists() {
            return Err(CaptureError::NoProcess(pid.0));
        }
        self.want_tree(pid)?;
        self.filter_changed()
    }

    /// Starts to trace a port. Without a filter, all ports are traced already and this changes nothing.
    ///
    /// # Errors
    /// [`CaptureError::Map`] if the kernel refuses the change of the filter.
    pub fn add_port(&mut self, port: u16) -> Result<(), CaptureError> {
        self.want_port(port)?;
        self.filter_changed()
    }

    /// Pauses (`false`) or resumes (`true`) all probes. The events contain a [`Body::Window`] at this time.
    ///
    /// # Errors
    /// [`CaptureError::Map`] if the kernel refuses the change of the setting.
    pub fn set_window(&mut self, open: bool) -> Result<(), CaptureError> {
        if self.open == open {
            return Ok(());
        }
        let opening = clock::now();
        self.open = open;
        self.windows = self.windows.wrapping_add(u32::from(open)).max(1);
        self.write_settings()?;
        let at = if open { opening } else { clock::now() };
        self.pending.push_back(Event { at, cpu: Cpu(0), body: Body::Window(open) });
        Ok(())
    }

    /// Pauses all probes, as [`Capture::set_window`] does, and detaches those that run for messages, so that they cost nothing any
    /// more. Maps, ring buffer and programs stay loaded. Does nothing if the probes are detached already.
    ///
    /// # Errors
    /// [`CaptureError::Map`] if the kernel refuses the change of the setting.
    pub fn detach(&mut self) -> Result<(), CaptureError> {
        self.set_window(false)?;
        let per_message = self.links.keys().copied().filter(|name| hooks::is_per_message(name));
        let names: Vec<_> = per_message.collect();
        self.links.retain(|name, _| !names.contains(name));
        self.detached.extend(names);
        Ok(())
    }

    /// Attaches the probes again that [`Capture::detach`] has detached, and resumes them. What is known of threads and of queues of
    /// datagrams is forgotten, because they were not observed in between. If the probes are attached, this only resumes them.
    ///
    /// # Errors
    /// [`CaptureError::Attach`] or [`CaptureError::Map`] if the kernel refuses.
    pub fn attach_again(&mut self) -> Result<(), CaptureError> {
        if !self.detached.is_empty() {
            self.attachment = self.attachment.wrapping_add(1);
            attach::attach_again(&mut self.ebpf, &mut self.links, &self.detached)
                .map_err(|refused| CaptureError::Attach(refused.reason))?;
            self.detached.clear();
        }
        self.set_window(true)
    }

    /// The capabilities that this capture needs after attaching; with `again`, also those for [`Capture::attach_again`]. Recent
    /// kernels require none, because they check rights when programs are loaded.
    pub fn rights_still_needed(&self, again: bool) -> CapabilitySet {
        let payload = |hook: &ChosenHook| hook.hook == Some(hooks::PAYLOAD_FROM_CGROUP.name);
        kernel::needed_after_attaching(again && self.hooks.iter().any(payload))
    }

    /// The hook that was chosen for each observation.
    pub fn hooks(&self) -> &[ChosenHook] {
        &self.hooks
    }

    /// Gives the events that are in the ring buffer now to `sink`, in order with the pending ones.
    fn drain(&mut self, sink: &mut dyn FnMut(&Event<'_>)) -> Result<usize, CaptureError> {
        let mut needs = Needs::default();
        let count = self.hand_out(sink, &mut needs)?;
        if self.detached.is_empty() {
            self.attach_later(needs);
        }
        Ok(count)
    }

    fn hand_out(
        &mut self,
        sink: &mut dyn FnMut(&Event<'_>),
        needs: &mut Needs,
    ) -> Result<usize, CaptureError> {
        let mut count = 0;
        while count < MAX_BATCH {
            let Some(record) = self.ring.next() else { break };
            if let Some(stash) = &mut self.stash
                && let Some((name, payload)) = decode::payload(&record)?
            {
                stash.put(name, payload);
                continue;
            }
            let mut event = decode::decode(&record)?;
            if let (Some(stash), Body::Packet(packet)) = (&self.stash, &mut event.body)
                && packet.payload.is_empty()
                && let Some(name) = decode::packet_name(&record)
            {
                packet.payload = stash.get(&name);
            }
            if let Body::Wake(wake) = &mut event.body {
                name_own(wake, self.own);
            }
            needs.add(&event);
            while let Some(own) = self.pending.front().filter(|own| own.at < event.at) {
                sink(own);
                count += 1;
                self.pending.pop_front();
            }
            if let Some(probe) = decode::probe_of(&event.body) {
                self.emitted[probe as usize] += 1;
            }
            sink(&event);
            count += 1;
        }
        if count >= MAX_BATCH {
            return Ok(count);
        }
        for own in self.pending.drain(..) {
            sink(&own);
            count += 1;
        }
        Ok(count)
    }

    /// Attaches the hooks that were left for later and are needed now.
    fn attach_later(&mut self, needs: Needs) {
        let (ebpf, links) = (&mut self.ebpf, &mut self.links);
        self.later.retain(|&(when, hook)| {
            let is_needed = match when {
                AttachTime::QdiscSeen => needs.qdisc,
                AttachTime::DatagramSent => needs.datagram,
                AttachTime::Always | AttachTime::Udp => false,
            };
            if is_needed && let Err(refused) = attach::attach_hook(ebpf, links, hook) {
                let reason = refused.reason;
                // The observation is missing then, as on a kernel without the hook.
                tracing::warn!(hook = hook.name, reason, "a hook cannot be attached");
            }
            !is_needed
        });
    }

    /// Gives a [`Body::Lost`] to `sink` for each probe that has lost events since its last one.
    fn report_lost(&mut self, sink: &mut dyn FnMut(&Event<'_>)) -> Result<usize, CaptureError> {
        let now = Instant::now();
        if now < self.next_loss_check {
            return Ok(0);
        }
        self.next_loss_check = now + LOSS_CHECK;
        let sums = self.read_counters()?;
        let mut count = 0;
        for (probe, ([_, lost], reported)) in
            Probe::ALL.into_iter().zip(sums.into_iter().zip(&mut self.lost))
        {
            let more = lost.saturating_sub(*reported);
            if more > 0 {
                *reported = lost;
                let body = Body::Lost(Lost { probe, count: more });
                sink(&Event { at: clock::now(), cpu: Cpu(0), body });
                count += 1;
            }
        }
        Ok(count)
    }

    /// The counters `filtered` and `lost` of each probe, summed over the CPUs.
    fn read_counters(&self) -> Result<[[u64; 2]; Probe::ALL.len()], CaptureError> {
        let map = self.ebpf.map("counters").ok_or(CaptureError::NoMap("counters"))?;
        let map: PerCpuArray<_, [u64; 2]> =
            PerCpuArray::try_from(map).map_err(map_error("counters"))?;
        let mut sums = [[0; 2]; Probe::ALL.len()];
        for (index, sum) in (0..).zip(&mut sums) {
            let values = map.get(&index, 0).map_err(map_error("counters"))?;
            for &[filtered, lost] in values.iter() {
                sum[0] += filtered;
                sum[1] += lost;
            }
        }
        Ok(sums)
    }

    fn wait(&self, time: Duration) -> Result<(), CaptureError> {
        let timeout = Timespec::try_from(time).ok();
        let mut fds = [PollFd::new(&self.ring, PollFlags::IN)];
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(CaptureError::Wait(error.into())),
        }
    }

    fn want_port(&mut self, port: u16) -> Result<(), CaptureError> {
        let (index, bit) = filter::port_bit(port);
        let mut ports = array::<[u64; 2]>(&mut self.ebpf, "ports")?;
        let [wanted, learned] = ports.get(&index, 0).map_err(map_error("ports"))?;
        ports.set(index, [wanted | bit, learned], 0).map_err(map_error("ports"))
    }

    fn want_tree(&mut self, root: Pid) -> Result<(), CaptureError> {
        let map = self.ebpf.map_mut("pids").ok_or(CaptureError::NoMap("pids"))?;
        let mut pids: HashMap<_, u32, u8> = HashMap::try_from(map).map_err(map_error("pids"))?;
        // The root is added first: from then on, the probes add the children that it starts.
        pids.insert(root.0, 1, 0).map_err(map_error("pids"))?;
        for pid in filter::process_tree(root.0) {
            pids.insert(pid, 1, 0).map_err(map_error("pids"))?;
        }
        Ok(())
    }

    /// Makes the probes check the sockets again that the filter has excluded so far.
    fn filter_changed(&mut self) -> Result<(), CaptureError> {
        if !self.filtered {
            return Ok(());
        }
        self.generation = self.generation.wrapping_add(1);
        self.write_settings()?;
        self.list_existing()
    }

    /// Announces the sockets that are open already.
    fn list_existing(&mut self) -> Result<(), CaptureError> {
        if self.observes(hooks::EXISTING_SOCKETS) {
            attach::walk_files(&mut self.ebpf, "existing_sockets")?;
        }
        Ok(())
    }

    /// The connections over Unix sockets that there are now, by the process that accepted them; none on a kernel that
    /// cannot tell. Walks the open files of all processes.
    ///
    /// # Errors
    /// [`CaptureError::Existing`] when the kernel refuses.
    pub fn unix_connections(&mut self) -> Result<Vec<UnixConnection>, CaptureError> {
        if !self.observes(hooks::UNIX_CONNECTIONS) {
            return Ok(Vec::new());
        }
        let written = attach::walk_files(&mut self.ebpf, "unix_connections")?;
        Ok(decode::unix_connections(&written))
    }

    fn observes(&self, observation: &str) -> bool {
        self.hooks.iter().any(|hook| hook.observation == observation && hook.hook.is_some())
    }

    fn write_settings(&mut self) -> Result<(), CaptureError> {
        let open = if self.open { self.windows } else { 0 };
        let value = [open, self.generation, self.attachment, 0];
        array::<[u32; 4]>(&mut self.ebpf, "settings")?
            .set(0, value, 0)
            .map_err(map_error("settings"))
    }
}

/// Replaces the names of this process's threads, where they had the CPU that another thread waited for, by the name of the tracer.
fn name_own(wake: &mut Wake, own: Pid) {
    let name = Comm::tracer();
    for holder in std::iter::once(&mut wake.holder).chain(&mut wake.others) {
        if holder.task.pid == own {
            holder.comm = name;
        }
    }
    if wake.waker.pid == own {
        wake.waker_comm = name;
    }
}

/// Which hooks that are attached later are needed, by the events seen.
#[derive(Clone, Copy, Default)]
struct Needs {
    qdisc: bool,
    datagram: bool,
}

impl Needs {
    fn add(&mut self, event: &Event<'_>) {
        match event.body {
            Body::Packet(Packet { hook: PacketHook::Xmit, queued: None, .. }) => self.qdisc = true,
            Body::Send(SendCall { kind: SendKind::Datagram { entered: None, .. }, .. }) => {
                self.datagram = true;
            }
            _ => {}
        }
    }
}

fn array<'a, V: Pod>(
    ebpf: &'a mut Ebpf,
    name: &'static str,
) -> Result<Array<&'a mut MapData, V>, CaptureError> {
    let map = ebpf.map_mut(name).ok_or(CaptureError::NoMap(name))?;
    Array::try_from(map).map_err(map_error(name))
}

fn map_error(map: &'static str) -> impl Fn(MapError) -> CaptureError {
    move |source| CaptureError::Map { map, source: Box::new(source) }
}
