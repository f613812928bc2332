//! The numbers by which a trace knows hosts, and the wait for their agents.

use crate::processes::TrialStopped;
use std::thread;
use std::time::{Duration, Instant};
use wirelap_correlate::{DeliverySink, Snapshot};
use wirelap_events::{HostClock, HostState, HostStatus, Pid};
use wirelap_process::{Failure, Signals};
use wirelap_session::Tracer;

/// Longest time until all agents send what they observe, and their clocks are known.
const CONNECT: Duration = Duration::from_mins(1);

/// Interval at which that is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Hosts by name, each with the number that processes there have in the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostNumbers(Vec<(String, u8)>);

impl HostNumbers {
    /// Waits until all agents of a trace observe.
    ///
    /// # Errors
    /// A host was lost or does not answer, or the user stops the run.
    pub fn await_all<S: DeliverySink + Send + 'static>(
        tracer: &Tracer<S>,
        signals: &Signals,
    ) -> Result<HostNumbers, TrialStopped> {
        let began = Instant::now();
        loop {
            if let Some(name) = signals.caught() {
                return Err(TrialStopped::Interrupted(name));
            }
            let latest = tracer.latest();
            if let Some(numbers) = HostNumbers::of(&latest)? {
                return Ok(numbers);
            }
            if began.elapsed() > CONNECT {
                let waits = latest.hosts.iter().find(|host| !is_there(host));
                let text = match waits {
                    Some(host) => format!("{}: {}", host.name, host.words()),
                    None => "no agent has begun".into(),
                };
                let seconds = CONNECT.as_secs();
                return Err(Failure::Machine(format!(
                    "not all hosts are observed after {seconds} s: {text}"
                ))
                .into());
            }
            thread::sleep(LOOK);
        }
    }

    /// The numbers of all hosts; `None` while one of them is not there yet.
    fn of(snapshot: &Snapshot) -> Result<Option<HostNumbers>, Failure> {
        let hosts = &snapshot.hosts;
        for host in hosts {
            if let HostStatus::Lost { why, .. } = &host.status {
                return Err(Failure::Machine(format!("{}: {why}", host.name)));
            }
        }
        if hosts.is_empty() || !hosts.iter().all(is_there) {
            return Ok(None);
        }
        let number = |host: &HostState| {
            let observer = match &host.status {
                HostStatus::SameKernel { observed_by } => {
                    hosts.iter().find(|other| other.name == *observed_by).unwrap_or(host)
                }
                _ => host,
            };
            // One that shares this host's clock shares its kernel.
            if observer.clock == HostClock::Own { 1 } else { observer.number }
        };
        Ok(Some(HostNumbers(hosts.iter().map(|host| (host.name.clone(), number(host))).collect())))
    }

    /// A process of a host, `None` for this one, as the trace knows it.
    pub fn on_host(&self, pid: u32, host: Option<&str>) -> Pid {
        let known = host.and_then(|host| self.0.iter().find(|(name, _)| name == host));
        known.map_or(Pid(pid), |(_, number)| Pid(pid).on_host(*number))
    }
}

/// True if what a host observes comes, by a clock that is known.
fn is_there(host: &HostState) -> bool {
    match host.status {
        HostStatus::SameKernel { .. } => true,
        HostStatus::Connected => host.clock != HostClock::Unknown,
        HostStatus::Connecting | HostStatus::Behind(_) | HostStatus::Lost { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{ClockStep, Nanos};

    fn host(number: u8, name: &str, status: HostStatus, clock: HostClock) -> HostState {
        HostState { number, name: name.into(), status, clock, ..HostState::default() }
    }

    #[test]
    fn hosts_of_one_kernel_have_the_number_of_the_one_that_observes() {
        let known = HostClock::Stepped(ClockStep { at: Nanos(1), by: [1, 1] });
        let same = HostStatus::SameKernel { observed_by: "robot".into() };
        let mut snapshot = Snapshot {
            hosts: vec![
                host(2, "robot", HostStatus::Connected, HostClock::Unknown),
                host(3, "hub", same, HostClock::Unknown),
            ],
            ..Snapshot::default()
        };
        assert_eq!(HostNumbers::of(&snapshot), Ok(None), "its clock is not known");
        snapshot.hosts[0].clock = known;
        let numbers = HostNumbers::of(&snapshot).unwrap().unwrap();
        assert_eq!(numbers.on_host(7, Some("hub")), Pid(7).on_host(2));
        snapshot.hosts[0].clock = HostClock::Own;
        let own = HostNumbers::of(&snapshot).unwrap().unwrap();
        assert_eq!(own.on_host(7, Some("hub")), Pid(7), "this kernel, through another agent");
        assert_eq!((numbers.on_host(7, None), numbers.on_host(7, Some("x"))), (Pid(7), Pid(7)));
    }

    #[test]
    fn a_lost_host_ends_the_wait() {
        let why = "sudo: a password is required".to_owned();
        let lost = HostStatus::Lost { since: Nanos(1), why };
        let hosts = vec![host(2, "hub", lost, HostClock::Unknown)];
        let found = HostNumbers::of(&Snapshot { hosts, ..Snapshot::default() });
        assert_eq!(found.unwrap_err().to_string(), "hub: sudo: a password is required");
        assert_eq!(HostNumbers::of(&Snapshot::default()), Ok(None));
    }
}
