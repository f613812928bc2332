//! The view "probes": events, losses and the tracer's cost, which the test compares with the snapshot itself.

use crate::figure::{Figure, after, assert_shows, before};
use crate::{cut, screen, snapshots};
use crossterm::event::KeyCode;
use wirelap_events::Probe;

#[test]
fn each_figure_of_the_probes_is_in_the_snapshot() {
    for (name, snapshot) in snapshots() {
        let lines = screen(&snapshot, &[KeyCode::Char('9')]);
        let trust = &snapshot.trust;
        for probe in Probe::ALL {
            let place = format!("{name}, {}", probe.name());
            let line = lines.iter().find(|line| cut(line, 1, 12) == probe.name()).unwrap();
            let figure = |from, to| Figure::parse(&cut(line, from, to));
            let reported = trust.reported.iter().find(|one| one.probe == probe);
            let events = reported.map_or(0, |one| one.events);
            assert_shows(&place, figure(12, 26).unwrap(), events as f64);
            assert_eq!(cut(line, 26, 36), "–", "{place}: no rate after one snapshot");
            let lost = trust.events_lost.iter().find(|loss| loss.probe == probe);
            let lost = lost.map_or(0, |loss| loss.count);
            assert_eq!(line.contains('!'), lost > 0, "{place}");
            assert_shows(&place, figure(38, 48).unwrap(), lost as f64);
            match reported.and_then(|one| one.filtered) {
                Some(filtered) => assert_shows(&place, figure(48, 62).unwrap(), filtered as f64),
                None => assert_eq!(cut(line, 48, 62), "–", "{place}"),
            }
        }
        let cpu = lines.iter().find(|line| line.starts_with(" CPU ")).unwrap();
        assert_shows(name, before(cpu, " since start"), trust.tracer.cpu_share * 100.0);
        let memory = lines.iter().find(|line| line.starts_with(" memory ")).unwrap();
        assert_shows(name, after(memory, "memory "), trust.tracer.rss_now_bytes as f64);
        assert_shows(name, after(memory, "now, "), trust.tracer.rss_bytes as f64);
    }
}
