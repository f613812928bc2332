//! The page that explains a result, as text.

mod samples;

use unicode_width::UnicodeWidthStr;
use wirelap_report::RunReport;
use wirelap_report::explain::{ExplainOptions, pages};

fn page(report: &RunReport) -> String {
    let text = pages(report, ExplainOptions::default());
    for line in text.lines() {
        assert!(line.width() <= 100, "{} columns: {line}", line.width());
        assert_eq!(line, line.trim_end(), "spaces at the end");
        assert!(!line.contains(" 1 messages"), "{line}");
    }
    text
}

#[test]
fn every_page_reads_as_stored() {
    for (name, report) in samples::why::all() {
        insta::assert_snapshot!(name, page(&report));
    }
}

#[test]
fn the_reader_chooses_how_many_messages_are_told() {
    let (_, report) =
        samples::why::all().into_iter().find(|(name, _)| *name == "contended").unwrap();
    let told = |worst| pages(&report, ExplainOptions { worst }).matches("    message 4,").count();
    assert_eq!([0, 1, 9].map(told), [0, 1, 2]);
}

#[test]
fn names_in_a_file_cannot_steer_the_terminal_or_break_the_page() {
    let hostile = "\u{1b}[2J\n".repeat(60);
    for (_, mut report) in samples::why::all() {
        for result in &mut report.results {
            (result.middleware, result.broker) = (hostile.clone(), Some(hostile.clone()));
            result.error = Some(hostile.clone());
            result.notes.push(hostile.clone());
            result.processes.iter_mut().for_each(|process| process.name.clone_from(&hostile));
            let Some(why) = &mut result.why else { continue };
            for verdict in &mut why.verdicts {
                (verdict.title, verdict.remedy) = (hostile.clone(), hostile.clone());
                (verdict.median_share, verdict.tail_share) = (f64::MAX, f64::NAN);
                verdict.evidence.push(hostile.clone());
            }
            for tail in &mut why.tails {
                (tail.share, tail.excess_ns) = (f64::INFINITY, u64::MAX);
                for row in &mut tail.rows {
                    (row.segment, row.cause) = (hostile.clone(), hostile.clone());
                    (row.share, row.excess_ns) = (f64::MIN, i64::MIN);
                }
            }
            for leg in why.worst.iter_mut().flat_map(|message| &mut message.legs) {
                leg.segments.iter_mut().for_each(|segment| segment.time_ns = u64::MAX);
                leg.chain.iter_mut().for_each(|hop| hop.task.name.clone_from(&hostile));
                leg.before.iter_mut().for_each(|hop| hop.left_ns = Some(i64::MIN));
            }
            why.typical.iter_mut().for_each(|row| row.mean_ns = u64::MAX);
            why.cpu_holders.iter_mut().for_each(|holder| holder.held_ns = u64::MAX);
        }
        let text = page(&report);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
}
