//! Events out of the ring buffer, in order of time.

use super::Capture;
use crate::stash::PayloadStash;
use crate::{CaptureError, decode};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::time::{Duration, Instant};
use wirelap_events::{Body, Comm, Event, Pid, Wake};

/// Time between two polls of the ring buffer while it is empty. The probes do not wake the reader, because a wakeup would cost the
/// traced program more than the record.
const TICK: Duration = Duration::from_millis(1);
/// After how many empty polls the ring buffer counts as idle: then it is polled as seldom as the caller allows.
const IDLE_AFTER: u32 = 20;

/// About the most events of one [`Capture::poll`], so that a caller can do its other work even if events arrive as fast as they
/// are taken. The number is small because one event can carry 64 KiB of payload with thousands of messages.
pub const MAX_BATCH: usize = 256;

impl Capture {
    /// Takes events out of the ring buffer and calls `sink` for each, in order. Waits up to `timeout` if there is none: all of
    /// it once the ring buffer has been empty for a while, because the probes do not wake the reader. Returns the number of events; [`MAX_BATCH`] or more mean that the ring buffer may not be empty yet.
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
            self.empty_ticks += 1;
            let left = deadline - now;
            self.wait(if self.empty_ticks > IDLE_AFTER { left } else { left.min(TICK) })?;
        }
    }

    /// Gives the events that are in the ring buffer now to `sink`, in order with the pending ones.
    fn drain(&mut self, sink: &mut dyn FnMut(&Event<'_>)) -> Result<usize, CaptureError> {
        let count = self.hand_out(sink)?;
        if self.detached.is_empty() && !self.later.is_empty() {
            self.attach_later();
        }
        self.forget_closed();
        Ok(count)
    }

    fn hand_out(&mut self, sink: &mut dyn FnMut(&Event<'_>)) -> Result<usize, CaptureError> {
        let count = self.hand_out_records(sink);
        self.ring.give_back();
        count
    }

    fn hand_out_records(
        &mut self,
        sink: &mut dyn FnMut(&Event<'_>),
    ) -> Result<usize, CaptureError> {
        let mut count = 0;
        while count < MAX_BATCH {
            let Some(record) = self.ring.next() else { break };
            if let Some(stash) = &mut self.stash
                && let Some(payload) = decode::payload(&record)?
            {
                stash.put(&payload);
                continue;
            }
            let mut event = match decode::looped(&record)? {
                Some(looped) => self.sent.receive(&looped),
                None => decode::decode(&record)?,
            };
            self.sent.note(&event);
            while let Some(own) = self.pending.pop_front_if(|own| own.at < event.at) {
                note_window(&mut self.stash, &own);
                sink(&own);
                count += 1;
            }
            if let (Some(stash), Body::Packet(packet)) = (&mut self.stash, &mut event.body)
                && packet.payload.is_empty()
                && let Some(departure) = decode::departure(&record)
            {
                packet.payload = stash.get(&departure);
            }
            if let Body::Wake(wake) = &mut event.body {
                name_own(wake, self.own);
            }
            if !self.later.is_empty() {
                self.needs.add(&event);
            }
            if let Body::Closed(socket) = event.body {
                self.muted.close(socket);
            }
            if let (Some(tls), Body::Socket(socket)) = (&self.tls, &event.body) {
                tls.has_socket(socket.task.pid);
            }
            if let Some(probe) = event.body.probe() {
                self.counts.emitted[probe as usize] += 1;
            }
            sink(&event);
            count += 1;
            if matches!(event.body, Body::Send(_))
                && let Some(written) = decode::written(&record)?
            {
                sink(&Event { body: Body::Written(written), ..event });
            }
        }
        if count >= MAX_BATCH {
            return Ok(count);
        }
        for own in self.pending.drain(..) {
            note_window(&mut self.stash, &own);
            sink(&own);
            count += 1;
        }
        Ok(count)
    }

    fn wait(&mut self, time: Duration) -> Result<(), CaptureError> {
        let timeout = Timespec::try_from(time).ok();
        let mut fds = [PollFd::new(&self.ring, PollFlags::IN)];
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(()),
            Ok(_) => {
                self.ring.answer();
                Ok(())
            }
            Err(error) => Err(CaptureError::Wait(error.into())),
        }
    }
}

/// Tells the stash of a window's beginning: payload that was copied before it is of packets that were not seen to leave.
fn note_window(stash: &mut Option<PayloadStash>, own: &Event<'_>) {
    if let (Some(stash), Body::Window(true)) = (stash, &own.body) {
        stash.begin_window(own.at);
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
