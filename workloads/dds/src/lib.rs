//! DDS, with Cyclone DDS. `ffi` has the calls into the library; here is what they are used for.

mod ffi;

use anyhow::{Result, anyhow, bail, ensure};
use ffi::{DdsParticipant, DdsWriter, OnMatch, Qos, WriteError};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use wirelap_contract::{About, DdsHistory, LinkReliability, LinkTransport, Role, Spec};
use wirelap_events::Nanos;
use wirelap_harness::control::Control;
use wirelap_harness::link::{Facts, Family, Handler, Link, Opened, Outlet, RoleTopics, listens};

const MATCH_LIMIT: Duration = Duration::from_secs(10);
/// A write that waits for a slow reader looks this often whether the run is over.
const MAX_BLOCKING: Nanos = Nanos::from_millis(100);
/// A reader that takes nothing for this long is an error.
const STUCK: Duration = Duration::from_secs(10);
/// Replies that may wait, and how often they are tried again.
const MAX_BACKLOG: usize = 1024;
const RETRY: Duration = Duration::from_micros(200);
const MAX_PAYLOAD: usize = 64 << 20;
/// The receive buffer that is asked for; the kernel gives at most `net.core.rmem_max`.
const RECEIVE_BUFFER: &str = "4MiB";

/// The middleware `dds`.
pub struct Dds;

impl Family for Dds {
    fn about(&self) -> About {
        About::new("dds", "DDS, peer to peer (Cyclone DDS)", MAX_PAYLOAD, &[LinkTransport::Udp])
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        let participant = DdsParticipant::open(spec.domain, &config(&spec.interface))?;
        let topics = RoleTopics::of(spec);
        let (readers, writers) = (Matched::default(), Matched::default());
        let outlet = match &topics.outgoing {
            Some(topic) => Some(DdsOutlet {
                writer: participant.writer(topic, qos(spec), readers.watch(control))?,
                backlog: (spec.role == Role::Pong).then(Arc::default),
                control: control.clone(),
                readers: readers.clone(),
                needs_reader: !listens(spec.role),
                reliable: reliability(spec) == LinkReliability::Reliable,
            }),
            None => None,
        };
        if let (Some(topic), Some(handler)) = (&topics.incoming, handler) {
            let outlet = outlet.clone();
            let on_data = move |at, payload: &[u8]| handler(at, payload, &outlet);
            let watch = writers.watch(control);
            participant.reader(topic, qos(spec), Box::new(on_data), watch)?;
        }
        wait_for_match(spec, &readers, &writers, control)?;
        Ok(Box::new(DdsLink { participant, outlet, facts: facts(spec) }))
    }
}

/// Number of peers that match.
#[derive(Clone, Default)]
struct Matched(Arc<AtomicU32>);

impl Matched {
    fn watch(&self, control: &Control) -> OnMatch {
        let (count, control) = (self.0.clone(), control.clone());
        Box::new(move |now| {
            count.store(now, Ordering::Release);
            control.wake();
        })
    }

    fn any(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

/// A `pub` needs a reader, a `ping` also a writer of replies. The others wait for nobody.
fn wait_for_match(
    spec: &Spec,
    readers: &Matched,
    writers: &Matched,
    control: &Control,
) -> Result<()> {
    let matched = || match spec.role {
        Role::Pub => readers.any(),
        Role::Ping => readers.any() && writers.any(),
        _ => true,
    };
    control.wait_or(MATCH_LIMIT, matched, || {
        anyhow!(
            "DDS: nobody matched within {} s: have both sides the same --topic, --domain, --interface and --reliability?",
            MATCH_LIMIT.as_secs()
        )
    })
}

/// Multicast only where there may be somebody to hear it; without it, the peers that count their participant
/// indexes up on this host are asked one by one. Everything else is the library's default.
fn config(interface: &str) -> String {
    let interface = escape(interface);
    let loopback = interface == "lo";
    let discovery = if loopback {
        "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>31</MaxAutoParticipantIndex>\
         <Peers><Peer Address=\"127.0.0.1\"/></Peers>"
    } else {
        ""
    };
    let multicast = if loopback { "<AllowMulticast>false</AllowMulticast>" } else { "" };
    format!(
        "<CycloneDDS><Domain Id=\"any\">\
         <General><Interfaces><NetworkInterface name=\"{interface}\"/></Interfaces>{multicast}</General>\
         <Discovery>{discovery}</Discovery>\
         <Internal><SocketReceiveBufferSize min=\"default\" max=\"{RECEIVE_BUFFER}\"/></Internal>\
         </Domain></CycloneDDS>"
    )
}

/// For an attribute's value.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn reliability(spec: &Spec) -> LinkReliability {
    spec.reliability.unwrap_or(LinkReliability::Reliable)
}

/// As published comparisons use it: the last message for latency, all of them for throughput.
fn history(spec: &Spec) -> DdsHistory {
    spec.history.unwrap_or(match spec.role {
        Role::Ping | Role::Pong => DdsHistory::KeepLast,
        Role::Pub | Role::Sub | Role::Broker | Role::Connect => DdsHistory::KeepAll,
    })
}

fn qos(spec: &Spec) -> Qos {
    Qos {
        reliable: reliability(spec) == LinkReliability::Reliable,
        keep_all: history(spec) == DdsHistory::KeepAll,
        // A pong writes on the receive thread, which must not wait for what it receives itself.
        max_blocking: if spec.role == Role::Pong { Nanos(0) } else { MAX_BLOCKING },
    }
}

fn facts(spec: &Spec) -> Facts {
    let Qos { reliable, keep_all, .. } = qos(spec);
    Facts::default()
        .version("cyclors", env!("WIRELAP_CYCLORS"))
        .setting("RELIABILITY", if reliable { "RELIABLE" } else { "BEST_EFFORT" })
        .setting("HISTORY", if keep_all { "KEEP_ALL" } else { "KEEP_LAST 1" })
        .setting("NetworkInterface", &spec.interface)
        .setting("AllowMulticast", spec.interface != "lo")
        .setting("SocketReceiveBufferSize", RECEIVE_BUFFER)
        .setting("domain", spec.domain)
}

struct DdsLink {
    participant: DdsParticipant,
    outlet: Option<DdsOutlet>,
    facts: Facts,
}

#[derive(Clone)]
struct DdsOutlet {
    writer: DdsWriter,
    /// Replies that the writer did not take at once, for the main thread to write.
    backlog: Option<Arc<Mutex<VecDeque<Vec<u8>>>>>,
    control: Control,
    readers: Matched,
    /// Writing to nobody is an error: only for the side that waited for its peer.
    needs_reader: bool,
    reliable: bool,
}

impl Outlet for DdsOutlet {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        let Some(mut backlog) = self.backlog() else {
            return self.write_patiently(payload);
        };
        if backlog.is_empty() {
            match self.writer.write(payload) {
                Ok(()) => return Ok(()),
                Err(WriteError::Other(error)) => return Err(error),
                // Too much is unacknowledged, and the acknowledgement waits to be received.
                Err(WriteError::Timeout) => {}
            }
        }
        ensure!(backlog.len() < MAX_BACKLOG, "{MAX_BACKLOG} replies are waiting to be written");
        backlog.push_back(payload.to_vec());
        self.control.wake();
        Ok(())
    }
}

impl DdsOutlet {
    fn backlog(&self) -> Option<MutexGuard<'_, VecDeque<Vec<u8>>>> {
        Some(self.backlog.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes what is waiting. Later replies queue up behind it, so their order stays.
    fn write_backlog(&self) -> Result<()> {
        loop {
            // Not held during the write: the receive thread may want to add to it.
            let Some(payload) = self.backlog().and_then(|queue| queue.front().cloned()) else {
                return Ok(());
            };
            self.write_patiently(&payload)?;
            if let Some(mut backlog) = self.backlog() {
                backlog.pop_front();
            }
        }
    }

    /// Waits for readers that are behind.
    fn write_patiently(&self, payload: &[u8]) -> Result<()> {
        let mut stuck_since = None;
        loop {
            if self.needs_reader && !self.readers.any() {
                bail!("the subscriber is gone");
            }
            match self.writer.write(payload) {
                Ok(()) => return Ok(()),
                Err(WriteError::Other(error)) => return Err(error),
                Err(WriteError::Timeout) if self.control.interrupted() => {
                    bail!("told to stop while a reader was behind")
                }
                Err(WriteError::Timeout) => {
                    if stuck_since.get_or_insert_with(Instant::now).elapsed() > STUCK {
                        bail!("the subscriber has taken nothing for {} s", STUCK.as_secs());
                    }
                    if self.backlog.is_some() {
                        thread::sleep(RETRY);
                    }
                }
            }
        }
    }
}

impl Outlet for DdsLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.outlet.publish(payload)
    }
}

impl Link for DdsLink {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn poll(&mut self, wait: Duration) -> Result<()> {
        thread::park_timeout(wait);
        self.outlet.as_ref().map_or(Ok(()), DdsOutlet::write_backlog)
    }

    fn flush(&mut self, limit: Duration) -> Result<()> {
        if let Some(outlet) = &self.outlet {
            outlet.write_backlog()?;
        }
        // Best effort is written to the socket by the time that `publish` returns.
        let Some(outlet) = self.outlet.as_ref().filter(|outlet| outlet.reliable) else {
            return Ok(());
        };
        let slice = Nanos::from_millis(10);
        let acked = || !outlet.readers.any() || outlet.writer.wait_for_acks(slice).unwrap_or(true);
        if !outlet.control.wait_for_flush(limit, acked)? {
            bail!("the subscriber did not acknowledge everything in time");
        }
        Ok(())
    }

    fn close(self: Box<Self>) {
        drop(self.participant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_names_cannot_break_the_configuration() {
        assert!(config("a\"<&").contains("name=\"a&quot;&lt;&amp;\""));
        assert!(config("lo").contains("<AllowMulticast>false"));
        assert!(!config("eth0").contains("AllowMulticast"));
    }
}
