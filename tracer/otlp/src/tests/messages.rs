//! Messages that are sent, once each.

use super::*;
use crate::counts::SpanCounts;
use crate::exporter::BATCHES;
use crate::sink::Handover;
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
    let handover = Handover::default();
    let choice = SpanChoice { slowest: 5, ..SHARE };
    let chosen = (choice, String::new());
    let mut sink = SpanSink::new(out, handover.clone(), SpanCounts::default(), chosen, || 0);
    sink.delivery(&message(0, 5));
    sink.published(&snapshot(1));
    drop(sink);
    assert_eq!(batches.recv().unwrap().messages.len(), 1);
    assert_eq!(handover.take_last().unwrap().messages.len(), 0);
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
fn lost_messages_beyond_the_most_that_wait_are_counted_as_dropped() {
    let (_, text) = sent(SpanChoice { share: 0.0, ..SHARE }, |sink| {
        for number in 0..1_100 {
            // The correlator asks before it tells.
            if sink.takes_given_up(GroupId(0), Some(Nondelivery::Lost)) {
                sink.undelivered(&message(number, 5), Nondelivery::Lost);
            }
        }
    });
    assert!(text.contains(": 2,048 spans sent") && text.contains(", 152 dropped"), "{text}");
}

#[test]
fn messages_of_a_time_in_which_no_answer_comes_wait_and_are_bounded() {
    // Nobody takes what the sink hands out, as the thread does not while it waits for an answer.
    let (out, batches) = sync_channel(BATCHES);
    let (handover, counts) = (Handover::default(), SpanCounts::default());
    let chosen = (SHARE, String::new());
    let mut sink = SpanSink::new(out, handover.clone(), counts.clone(), chosen, || 0);
    for number in 0..1_000 {
        sink.delivery(&message(number, 5));
        if number % 50 == 0 {
            sink.published(&snapshot(number));
        }
    }
    assert_eq!(counts.dropped(), 0, "the Collector was silent for five seconds");
    for number in 1_000..3_000 {
        sink.delivery(&message(number, 5));
    }
    let waiting = 1_024;
    assert_eq!(counts.dropped(), 2 * (3_000 - waiting));
    drop(sink);
    let taken: Vec<usize> =
        batches.try_iter().chain(handover.take_last()).map(|batch| batch.messages.len()).collect();
    assert_eq!(taken.iter().sum::<usize>() as u64, waiting);
    handover.note_taken(1_024);
}

#[test]
fn the_trace_of_an_application_arrives_as_it_named_it() {
    let context =
        TraceContext { trace: *b"\xA1\xA2\xA3\xA4sixteen byte", parent: [0xB2; 8], flags: 1 };
    let (got, _) = sent(SHARE, |sink| {
        assert!(sink.takes_trace_contexts());
        // Two messages that one span of the application has sent, one message of another application, which has recorded nothing, and a lost one of it.
        for number in [1, 2, 3] {
            let flags = u8::from(number < 3);
            let mut one = message(number, 5);
            one.trace.context = Some(TraceContext { flags, ..context });
            sink.delivery(&one);
            if number == 3 {
                sink.undelivered(&one, Nondelivery::Lost);
            }
        }
    });
    let spans = spans(&got);
    assert!(spans.iter().all(|span| span.trace_id == context.trace));
    let numbers: HashSet<&[u8]> = spans.iter().map(|span| span.span_id.as_slice()).collect();
    assert_eq!((spans.len(), numbers.len()), (6, 6));
    let (first, later): (Vec<_>, Vec<_>) =
        spans.iter().partition(|span| span.parent_span_id == context.parent);
    assert_eq!((first.len(), later.len()), (3, 3));
    assert!(later.iter().all(|span| numbers.contains(span.parent_span_id.as_slice())));
    let flags: Vec<u32> = first.iter().map(|span| span.flags).collect();
    assert_eq!(flags, [0x301, 0x301, 0x300]);
}
