//! Snapshots of a session, with what the tracer knows of itself.

use super::{SessionThread, meter_of};
use crate::keeper::BudgetKeeper;
use crate::machine;
use crate::place_notes::PlaceNotes;
use wirelap_capture::ProbeCounters;
use wirelap_correlate::{DeliverySink, Group, ProbeEvents, ProbeLoss, Snapshot, TracerCost};
use wirelap_events::{Nanos, Pid, Total};
use wirelap_hosts::MergedHosts;

impl<S: DeliverySink> SessionThread<S> {
    /// The correlator's snapshot, completed with lost events, the tracer's cost, and the usage of processes.
    pub(super) fn snapshot(&mut self) -> Snapshot {
        let mut snapshot = self.correlator.snapshot(machine::now());
        self.read_places_again(&snapshot);
        self.count_probes(&mut snapshot);
        self.capture.note_view(&mut snapshot);
        snapshot.unknown.muted_sockets = self.capture.probes().map_or(0, |p| p.muted() as u64);
        snapshot.hosts =
            self.capture.hosts().into_iter().flat_map(MergedHosts::states).cloned().collect();
        snapshot.trust.tracer = self.own_cost();
        snapshot.trust.budget = self.budget.keeper.as_ref().map(BudgetKeeper::shown);
        let mut meters = std::mem::take(&mut self.usage.programs);
        if let Some(probes) = self.capture.probes_mut() {
            self.unix.refresh(probes);
        }
        for process in snapshot.groups.iter_mut().flat_map(|group| &mut group.processes) {
            process.unix = self.unix.of(process.pid.0).cloned();
            if let Some(hosts) = self.capture.hosts().filter(|_| process.pid.host() != 1) {
                if let Some(used) = hosts.usage(process.pid) {
                    process.cpu_share = Some(used.cpu_share);
                    process.major_faults = Some(used.major_faults);
                    process.rss_bytes = Some(used.rss_bytes);
                    process.ended = used.ended;
                }
                continue;
            }
            let Some(meter) = meter_of(&mut meters, process.pid.0) else {
                process.ended = true;
                continue;
            };
            process.cpu_share = Some(meter.cpu_share());
            process.major_faults = Some(meter.major_faults());
            process.rss_bytes = Some(meter.peak_rss());
            process.ended = meter.has_ended();
        }
        self.usage.programs = meters;
        snapshot.unix_servers = self.unix.beside(&snapshot);
        self.say_why_not_read(&mut snapshot);
        snapshot.groups.iter_mut().for_each(Group::check_verdicts);
        snapshot
    }

    /// Reads again where the processes of a snapshot run, which the next one shows.
    fn read_places_again(&mut self, snapshot: &Snapshot) {
        let processes = snapshot.groups.iter().flat_map(|group| &group.processes);
        let mut notes = PlaceNotes { recorder: self.recorder.as_mut(), kept: self.kept.as_mut() };
        let pids = processes.map(|process| process.pid);
        self.cpus.avoid(pids.clone());
        self.places.refresh(pids, &mut self.correlator, &mut notes);
    }

    /// Says for encrypted traffic why its text is not read, if text is read at all.
    fn say_why_not_read(&self, snapshot: &mut Snapshot) {
        let Some(probes) = self.capture.probes().filter(|probes| probes.reads_tls()) else {
            return;
        };
        for row in &mut snapshot.unknown.rows {
            if !row.protocol.as_ref().is_some_and(|name| name.is_encrypted) {
                continue;
            }
            let reason = |(pid, name): &(Pid, String)| {
                Some(format!("{name} (PID {}): {}", pid.0, probes.tls_access(*pid)?))
            };
            row.not_read = Some(row.ends.iter().filter_map(reason).collect());
        }
    }

    /// Counts what each probe has lost and filtered, by its own counters and the kernel's.
    fn count_probes(&self, snapshot: &mut Snapshot) {
        let counters = self.capture.counters();
        let trust = &mut snapshot.trust;
        trust.skipped_runs = counters.iter().map(|counter| counter.skipped).total();
        // A packet socket does not count what its filter leaves out.
        let is_counted = !self.capture.is_packets();
        let loss =
            |counter: &ProbeCounters| ProbeLoss { probe: counter.probe, count: counter.missing() };
        trust.events_lost = counters.iter().map(loss).collect();
        let events =
            |probe| trust.reported.iter().find(|one| one.probe == probe).map(|one| one.events);
        let reported = counters.iter().map(|counter| ProbeEvents {
            probe: counter.probe,
            events: events(counter.probe).unwrap_or_default(),
            filtered: is_counted.then_some(counter.filtered),
        });
        trust.reported = reported.collect();
    }

    fn own_cost(&mut self) -> TracerCost {
        let Some(meter) = &mut self.usage.own else { return TracerCost::default() };
        meter.sample();
        // The pages of the kernel's ring buffer are mapped twice, so they are counted twice.
        let twice = self.capture.counted_twice();
        TracerCost {
            cpu_share: meter.cpu_share(),
            rss_bytes: meter.peak_rss().saturating_sub(twice),
            ring_bytes: Some(self.usage.ring_bytes.into()),
            cpu_time: Nanos(u64::try_from(meter.cpu().as_nanos()).unwrap_or(u64::MAX)),
            rss_now_bytes: meter.rss().saturating_sub(twice),
        }
    }
}
