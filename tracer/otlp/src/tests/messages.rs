//! Messages that are sent, once each.

use super::*;
use crate::counts::SpanCounts;
use crate::sink::LastBatch;
use std::sync::mpsc::sync_channel;

/// Sends what this does, and returns what a Collector got and what was said at the end.
fn sent(choice: SpanChoice, mut feed: impl FnMut(&mut SpanSink)) -> (Vec<Got>, String) {
    let (address, got) = collector(|_, _| OK);
    let (mut sink, exporter) = start(address, choice, TIMES);
    feed(&mut sink);
    drop(sink);
    let text = exporter.end();
    (got.try_iter().collect(), text)
}

#[test]
fn messages_in_one_place_are_all_sent_and_readers_of_one_share_its_trace() {
    let (got, text) = sent(SHARE, |sink| {
        for number in [1, 2, 3, 2] {
            sink.delivery(&Delivery { message: MessageId(number), ..message(0, 5) });
        }
    });
    assert!(text.contains(": 6 spans sent to ") && !text.contains("dropped"), "{text}");
    let traces: HashSet<Vec<u8>> = spans(&got).into_iter().map(|span| span.trace_id).collect();
    assert_eq!(traces.len(), 3);
}

#[test]
fn what_is_in_the_share_is_not_sent_again_for_being_slow() {
    let (out, batches) = sync_channel(1);
    let last = LastBatch::default();
    let choice = SpanChoice { slowest: 5, ..SHARE };
    let chosen = (choice, String::new());
    let mut sink = SpanSink::new(out, last.clone(), SpanCounts::default(), chosen, || 0);
    sink.delivery(&message(0, 5));
    sink.published(&snapshot(1));
    drop(sink);
    assert_eq!(batches.recv().unwrap().messages.len(), 1);
    assert_eq!(last.lock().unwrap().take().unwrap().messages.len(), 0);
}

#[test]
fn what_was_for_nobody_or_not_followed_is_sent_with_the_share_alone() {
    let feed = |sink: &mut SpanSink| {
        let all = [
            Nondelivery::Lost,
            Nondelivery::Unread,
            Nondelivery::ForNobody,
            Nondelivery::NotFollowed,
            Nondelivery::UnderWay,
        ];
        for (number, why) in (0..).zip(all) {
            if sink.takes_given_up(GroupId(0), Some(why)) {
                sink.undelivered(&message(number, 5), why);
            }
        }
    };
    let chosen = |choice| {
        let spans = spans(&sent(choice, feed).0);
        let traces: HashSet<Vec<u8>> = spans.into_iter().map(|span| span.trace_id).collect();
        traces.len()
    };
    assert_eq!(chosen(SpanChoice { share: 0.0, ..SHARE }), 3);
    assert_eq!(chosen(SHARE), 5);
}

#[test]
fn lost_messages_beyond_the_most_of_a_batch_are_counted_as_dropped() {
    let (_, text) = sent(SpanChoice { share: 0.0, ..SHARE }, |sink| {
        for number in 0..300 {
            // The correlator asks before it tells.
            if sink.takes_given_up(GroupId(0), Some(Nondelivery::Lost)) {
                sink.undelivered(&message(number, 5), Nondelivery::Lost);
            }
        }
    });
    assert!(text.contains(": 512 spans sent") && text.contains(", 44 dropped"), "{text}");
}
