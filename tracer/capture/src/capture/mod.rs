//! The running capture.

mod counters;
mod event_counts;
mod existing;
mod filtering;
mod later;
mod looped;
mod maps;
mod muted_sockets;
mod muting;
mod needs;
mod reading;
mod run_time;
mod skipped;

pub use counters::ProbeCounters;
pub use reading::MAX_BATCH;
pub use run_time::RunTimeCount;

use crate::attach::{self, Attached};
use crate::hooks::{self, AttachTime, ChosenHook, ObservationHook};
use crate::links::ProgramLinks;
use crate::programs;
use crate::ring::{RingConsumer, RingKind};
use crate::stash::PayloadStash;
use crate::tls::{TlsAccess, TlsWatch};
use crate::{AttachError, CaptureConfig, CaptureError, allocator, clock, kernel};
use aya::Ebpf;
use event_counts::EventCounts;
use looped::SentPackets;
use maps::{array, map_error};
use muted_sockets::MutedSockets;
use needs::Needs;
use rustix::thread::CapabilitySet;
use std::collections::VecDeque;
use wirelap_events::{Body, Cpu, Event, Pid, TraceDetail};

/// Attached probes. Dropping this value detaches them, and so does the end of the process, even if it is killed.
pub struct Capture {
    ring: RingConsumer,
    ring_bytes: u32,
    ebpf: Ebpf,
    links: ProgramLinks,
    /// Programs that [`Capture::detach`] has detached.
    detached: Vec<&'static str>,
    hooks: Vec<ChosenHook>,
    later: Vec<(AttachTime, &'static ObservationHook)>,
    /// The hooks among them that are needed.
    needs: Needs,
    /// Looks at the programs that open sockets, if the text of TLS is read.
    tls: Option<TlsWatch>,
    stash: Option<PayloadStash>,
    filtered: bool,
    generation: u32,
    /// Number of times that the probes were attached.
    attachment: u32,
    /// Number of times that the probes began to report (windows).
    windows: u32,
    open: bool,
    muted: MutedSockets,
    sent: SentPackets,
    counts: EventCounts,
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
    pub fn attach(config: &CaptureConfig) -> Result<Capture, AttachError> {
        let Attached { mut ebpf, links, hooks, later, joins_payload, tls } =
            attach::attach(config)?;
        let ring = RingConsumer::of(&mut ebpf, RingKind::choose(config))?;
        let counts = EventCounts::since_now(&ebpf);
        let mut capture = Capture {
            ring,
            ring_bytes: config.ring_bytes,
            ebpf,
            links,
            detached: Vec::new(),
            hooks,
            needs: Needs::of(later.iter().map(|(when, _)| *when)),
            later,
            tls,
            stash: joins_payload.then(PayloadStash::default),
            filtered: config.is_filtered(),
            generation: 0,
            attachment: 0,
            windows: 1,
            open: false,
            muted: MutedSockets::default(),
            sent: SentPackets::default(),
            counts,
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
        // The kernel's types took more memory than the capture will.
        allocator::give_back();
        Ok(capture)
    }

    /// Bytes of the ring buffer that the kernel counts twice as memory of this process. The kernel's ring buffer is mapped twice,
    /// so that a record at its end can be read in one piece (`kernel/bpf/ringbuf.c`, `bpf_ringbuf_area_alloc()`).
    pub fn counted_twice(&self) -> u32 {
        if self.ring.is_kernels() { self.ring_bytes } else { 0 }
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

    /// Notes that from a time on, which may be to come, the present window is open only for the messages that were found in it before.
    pub fn wait_for_messages(&mut self, since: wirelap_events::Nanos) {
        let (at, body) = (clock::now(), Body::Waiting(since));
        self.pending.push_back(Event { at, cpu: Cpu(0), body });
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
        self.attach_part(TraceDetail::Full)
    }

    /// The same, of those probes that [`Capture::detach`] has detached, for those that this detail needs; the others stay detached.
    /// What is reported with less detail than [`CaptureConfig::detail`] cannot be joined to messages: this is for measuring what each
    /// part costs.
    ///
    /// # Errors
    /// [`CaptureError::Attach`] or [`CaptureError::Map`] if the kernel refuses.
    pub fn attach_part(&mut self, detail: TraceDetail) -> Result<(), CaptureError> {
        self.attach_detached(detail)?;
        self.set_window(true)
    }

    /// Attaches the probes again that [`Capture::detach`] has detached, which report nothing before [`Capture::attach_again`]: attaching
    /// holds up the traced programs.
    ///
    /// # Errors
    /// [`CaptureError::Attach`] if the kernel refuses.
    pub fn attach_paused(&mut self) -> Result<(), CaptureError> {
        self.attach_detached(TraceDetail::Full)
    }

    /// Detaches these programs for good, to measure what each costs: what they would report is missing from then on.
    pub fn leave_out(&mut self, programs: &[&str]) {
        self.links.retain(|name, _| !programs.contains(name));
    }

    fn attach_detached(&mut self, detail: TraceDetail) -> Result<(), CaptureError> {
        let wanted = |name: &&'static str| hooks::detail_of(name) <= detail;
        let names: Vec<_> = self.detached.iter().copied().filter(wanted).collect();
        if !names.is_empty() {
            self.attachment = self.attachment.wrapping_add(1);
            programs::attach_again(&mut self.ebpf, &mut self.links, &names)
                .map_err(|refused| CaptureError::Attach(refused.reason))?;
            self.detached.retain(|name| !names.contains(name));
        }
        Ok(())
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

    /// True if the text of TLS is read.
    pub fn reads_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Tells whether the text of a process's TLS can be read; `None` if no text is read, or the process has opened no traced socket.
    pub fn tls_access(&self, pid: Pid) -> Option<TlsAccess> {
        self.tls.as_ref()?.access(pid)
    }

    fn write_settings(&mut self) -> Result<(), CaptureError> {
        let open = if self.open { self.windows } else { 0 };
        let value = [open, self.generation, self.attachment, 0, self.muted.changes, 0];
        array::<[u32; 6]>(&mut self.ebpf, ".data.settings")?
            .set(0, value, 0)
            .map_err(map_error(".data.settings"))
    }
}
