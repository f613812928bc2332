//! The spans that wait to be sent: a bounded number, each once.

use crate::counts::SpanCounts;
use crate::ids::{SpanId, TraceId};
use crate::names::ServiceProcess;
use crate::proto::{ResourceSpans, SCHEMA_URL, Scope, ScopeSpans, Span, TraceRequest};
use crate::spans::ProcessSpan;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use wirelap_events::MessageId;

/// The most spans that wait. One takes about 2 KiB.
pub const QUEUE: usize = 8_192;
/// The most spans of a request, which then stays below what a Collector takes.
pub const REQUEST: usize = 512;
/// The spans whose numbers are remembered: a message that is chosen twice, or read by several, has spans in common.
const REMEMBERED: usize = 65_536;

/// The spans that wait, the oldest first.
#[derive(Debug, Default)]
pub struct SpanQueue {
    waiting: VecDeque<ProcessSpan>,
    known: FxHashSet<(TraceId, SpanId)>,
    in_order: VecDeque<(TraceId, SpanId)>,
    messages: FirstMessages,
}

/// The first message of each number: of others that seem to have it, it is not known which of them another host would take for the same.
#[derive(Debug, Default)]
struct FirstMessages {
    first: FxHashMap<TraceId, MessageId>,
    in_order: VecDeque<TraceId>,
}

impl FirstMessages {
    fn own_number(&mut self, number: TraceId, message: MessageId) -> TraceId {
        let first = *self.first.entry(number).or_insert_with(|| {
            self.in_order.push_back(number);
            message
        });
        if self.in_order.len() > REMEMBERED
            && let Some(oldest) = self.in_order.pop_front()
        {
            self.first.remove(&oldest);
        }
        if first == message { number } else { number.of_one(message) }
    }
}

impl SpanQueue {
    /// The number that a message alone has: this one, unless another message has it.
    pub fn own_number(&mut self, number: TraceId, message: MessageId) -> TraceId {
        self.messages.own_number(number, message)
    }

    /// Adds a span, unless it has been added before. Without room, the oldest goes.
    pub fn add(&mut self, span: ProcessSpan, counts: &SpanCounts) {
        if !self.known.insert(span.id) {
            return;
        }
        self.in_order.push_back(span.id);
        if self.in_order.len() > REMEMBERED
            && let Some(oldest) = self.in_order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.waiting.push_back(span);
        if self.waiting.len() > QUEUE {
            self.drop_first(1, counts);
        }
    }

    /// The number of spans that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// A request with the oldest spans, and their number.
    pub fn request(&self) -> (TraceRequest, usize) {
        let mut by_process: FxHashMap<&ServiceProcess, Vec<Span>> = FxHashMap::default();
        for one in self.waiting.iter().take(REQUEST) {
            by_process.entry(&one.process).or_default().push(one.span.clone());
        }
        let resource_spans = by_process.into_iter().map(|(process, spans)| ResourceSpans {
            resource: Some(process.resource()),
            scope_spans: vec![ScopeSpans {
                scope: Some(scope()),
                spans,
                schema_url: SCHEMA_URL.into(),
            }],
            schema_url: SCHEMA_URL.into(),
        });
        let request = TraceRequest { resource_spans: resource_spans.collect() };
        (request, self.waiting.len().min(REQUEST))
    }

    /// Removes the oldest spans, which have been taken.
    pub fn remove_first(&mut self, spans: usize) {
        self.waiting.drain(..spans.min(self.waiting.len()));
    }

    /// Drops the oldest spans, and counts them.
    pub fn drop_first(&mut self, spans: usize, counts: &SpanCounts) {
        let spans = spans.min(self.waiting.len());
        counts.add_dropped(spans as u64);
        self.remove_first(spans);
    }
}

/// The program that makes spans and metrics.
pub fn scope() -> Scope {
    Scope { name: "wirelap".into(), version: env!("CARGO_PKG_VERSION").into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{IdOrigin, SpanRole};
    use wirelap_events::{ByteRange, Offset};
    use wirelap_test_support::delivered::{delivery, leg};

    fn span(number: u64) -> ProcessSpan {
        let mut leg = leg(&[]);
        leg.flow_range.range = ByteRange::new(Offset(number), 1);
        let trace = TraceId::of(&delivery([leg]), IdOrigin { host: "", wall_offset: 0 });
        let id = trace.span(SpanRole::Producer, None);
        let span = Span { span_id: id.bytes(), ..Span::default() };
        ProcessSpan { process: ServiceProcess::default(), id: (trace, id), span }
    }

    #[test]
    fn a_span_waits_once_and_the_oldest_go_first() {
        let (mut queue, counts) = (SpanQueue::default(), SpanCounts::default());
        for number in (0..3).chain(0..3) {
            queue.add(span(number), &counts);
        }
        assert_eq!((queue.len(), counts.dropped()), (3, 0));
        for number in 3..10_000 {
            queue.add(span(number), &counts);
        }
        assert_eq!((queue.len(), counts.dropped()), (QUEUE, 10_000 - QUEUE as u64));
        let (request, taken) = queue.request();
        let first = &request.resource_spans[0].scope_spans[0].spans;
        assert_eq!((taken, first.len()), (REQUEST, REQUEST));
        assert_eq!(first[0].span_id, span(10_000 - QUEUE as u64).span.span_id);
        queue.remove_first(taken);
        assert_eq!(queue.len(), QUEUE - REQUEST);
        assert_eq!(counts.dropped(), 10_000 - QUEUE as u64, "what was sent was not dropped");
    }

    #[test]
    fn memory_of_numbers_is_bounded() {
        let (mut queue, counts) = (SpanQueue::default(), SpanCounts::default());
        for number in 0..100_000 {
            queue.add(span(number), &counts);
        }
        assert_eq!((queue.known.len(), queue.in_order.len()), (REMEMBERED, REMEMBERED));
        for number in 0..100_000 {
            queue.own_number(span(number).id.0, MessageId(number));
        }
        let messages = &queue.messages;
        assert_eq!((messages.first.len(), messages.in_order.len()), (REMEMBERED, REMEMBERED));
    }

    #[test]
    fn messages_of_one_number_are_told_apart_and_one_message_is_one() {
        let mut queue = SpanQueue::default();
        let [one, other] = [span(0), span(1)].map(|span| span.id.0);
        let ids = [(one, 7), (one, 8), (one, 7), (one, 8), (other, 9)]
            .map(|(place, message)| queue.own_number(place, MessageId(message)));
        assert_eq!([ids[0], ids[2], ids[4]], [one, one, other]);
        assert_eq!(ids[1], ids[3]);
        assert_ne!(ids[1], one);
    }
}
