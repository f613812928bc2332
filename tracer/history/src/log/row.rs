//! The log entries about one row.

use super::entry::LogEvent;
use super::steady::{Hold, Steady, SteadyValue};
use rustc_hash::FxHashMap;
use wirelap_correlate::trust::reliability;
use wirelap_correlate::{Group, Reliability, Severity, Snapshot, VerdictKind};
use wirelap_events::{Nanos, Pid};

/// A row is silent when it has delivered nothing for so long, and for [`UNUSUAL`] times as long as it usually takes to the next delivery.
const SILENT: Nanos = Nanos(3_000_000_000);
const UNUSUAL: u64 = 5;
/// The most processes of a row whose end is an entry.
const PROCESSES: usize = 4_096;
/// The beginning or end of a verdict is an entry when it has lasted so long, so that one that comes and goes fills no log.
const VERDICT: Hold = Hold { on: Nanos(2_000_000_000), off: Nanos(2_000_000_000) };
/// The same of overdue messages.
const OVERDUE: Hold = Hold { on: Nanos(500_000_000), off: Nanos(2_000_000_000) };
/// Time for which figures have to be more or less trustworthy before that is an entry.
const TRUST: Nanos = Nanos(2_000_000_000);

/// The state of a row until the last snapshot, which the next one is compared with.
#[derive(Clone, Debug, Default)]
pub struct RowState {
    appeared: Nanos,
    delivered: u64,
    last: Nanos,
    silent: bool,
    muted: bool,
    trust: Option<SteadyValue<Reliability>>,
    overdue: Steady,
    /// The verdicts that have held.
    verdicts: FxHashMap<VerdictKind, Steady>,
    /// The processes that have ended.
    gone: Vec<Pid>,
}

impl RowState {
    /// A row that has appeared.
    pub fn new(at: Nanos) -> RowState {
        RowState { appeared: at, last: at, ..RowState::default() }
    }

    /// Compares a row with what is remembered of it.
    pub fn compare(&mut self, group: &Group, now: &Snapshot, events: &mut Vec<LogEvent>) {
        self.muted(group, events);
        self.traffic(group, now.at, events);
        self.processes(group, events);
        self.verdicts(group, now.at, events);
        let trust = reliability(&group.doubts(&now.trust));
        let known = self.trust.get_or_insert_with(|| SteadyValue::new(trust));
        if known.update(now.at, trust, TRUST) {
            events.push(LogEvent::Trust(trust));
        }
        let overdue = group.why.open.iter().map(|open| open.messages).fold(0, u64::saturating_add);
        match self.overdue.update(now.at, overdue > 0, OVERDUE) {
            Some(true) => events.push(LogEvent::Overdue(overdue)),
            Some(false) => events.push(LogEvent::NothingOverdue),
            None => {}
        }
    }

    fn muted(&mut self, group: &Group, events: &mut Vec<LogEvent>) {
        if std::mem::replace(&mut self.muted, group.is_muted()) != self.muted {
            events.push(if self.muted { LogEvent::RowMuted } else { LogEvent::RowUnmuted });
        }
    }

    fn traffic(&mut self, group: &Group, at: Nanos, events: &mut Vec<LogEvent>) {
        if self.muted {
            // Whether it delivers anything is not known.
            (self.delivered, self.last, self.silent) = (group.messages.delivered, at, false);
            return;
        }
        if group.messages.delivered != self.delivered {
            self.delivered = group.messages.delivered;
            if std::mem::take(&mut self.silent) {
                events.push(LogEvent::RowSpeaks(at - self.last));
            }
            self.last = at;
            return;
        }
        let silent = at - self.last;
        let usual = (self.last - self.appeared).0.checked_div(self.delivered).map(Nanos);
        let is_unusual = usual.is_some_and(|usual| silent >= SILENT && silent >= usual * UNUSUAL);
        if is_unusual && !self.silent {
            self.silent = true;
            events.push(LogEvent::RowSilent);
        }
    }

    fn processes(&mut self, group: &Group, events: &mut Vec<LogEvent>) {
        for process in &group.processes {
            let is_known = self.gone.contains(&process.pid) || self.gone.len() >= PROCESSES;
            if process.ended && !is_known {
                self.gone.push(process.pid);
                let (role, comm, pid) = (process.role.clone(), process.comm.clone(), process.pid);
                events.push(LogEvent::ProcessGone { role, comm, pid });
            }
        }
    }

    fn verdicts(&mut self, group: &Group, at: Nanos, events: &mut Vec<LogEvent>) {
        for (kind, _) in held(group) {
            self.verdicts.entry(kind).or_default();
        }
        for kind in VerdictKind::ALL {
            let Some(known) = self.verdicts.get_mut(&kind) else { continue };
            let severity =
                held(group).find(|(held, _)| *held == kind).map(|(_, severity)| severity);
            if known.update(at, severity.is_some(), VERDICT).is_some() {
                events.push(match severity {
                    Some(severity) => LogEvent::VerdictBegan(kind, severity),
                    None => LogEvent::VerdictEnded(kind),
                });
            }
        }
    }
}

/// The middleware, the broker and the address of a row, as far as they are known.
pub fn name(group: &Group) -> String {
    let endpoint = group.endpoint.map(|endpoint| endpoint.to_string());
    let parts = [Some(group.middleware.as_str()), group.broker.as_deref(), endpoint.as_deref()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The verdicts that hold now.
fn held(group: &Group) -> impl Iterator<Item = (VerdictKind, Severity)> + '_ {
    let verdicts = group.why.verdicts.iter().filter(|verdict| verdict.is_still_so());
    verdicts.map(|verdict| (verdict.kind, verdict.severity))
}
