//! No message, size or key sequence makes drawing the view of single messages fail.

#![allow(missing_docs, reason = "a test")]

use crossterm::event::{KeyCode, KeyEvent};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::net::SocketAddr;
use std::sync::Arc;
use wirelap_correlate::{DelayCause, VerdictKind};
use wirelap_events::{
    ByteRange, CgroupId, Circumstances, Comm, Delivery, FanOut, FlowKey, FlowRange, GroupId,
    Holder, Hop, Leg, LegLosses, LegOffCpu, LegPath, MessageId, MessageRequest, MessageTrace,
    Nanos, NetNs, OffCpu, Offset, Pid, Recovery, Segment, SenderSocket, Stage, StageTimes, Stamp,
    TaskId, Tid, TopicId, Transport, TxState,
};
use wirelap_history::{KeptMessage, MessageFate, Slice, Update};
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{App, Theme, render};

fn nanos() -> impl Strategy<Value = Nanos> {
    prop_oneof![Just(0), 0u64..1_000_000, any::<u64>()].prop_map(Nanos)
}

fn task() -> impl Strategy<Value = TaskId> {
    (prop_oneof![4_018u32..4_025, any::<u32>()], 0u32..3)
        .prop_map(|(pid, tid)| TaskId { pid: Pid(pid), tid: Tid(tid) })
}

fn holder() -> impl Strategy<Value = Holder> {
    (task(), any::<[u8; 16]>(), nanos()).prop_map(|(task, comm, held)| Holder {
        task,
        comm: Comm(comm),
        held,
    })
}

prop_compose! {
    fn hop()(task in task(), times in prop::array::uniform3(nanos()), holder in holder(), flags: [bool; 2]) -> Hop {
        let [woken, running, left] = times;
        let (from_irq, migrated) = (flags[0], flags[1]);
        Hop { task, woken, running, left: Some(left), from_irq, migrated, holder, ..Hop::default() }
    }
}

prop_compose! {
    fn off_cpu()(times in prop::array::uniform5(nanos()), preemptions: u32, holder in holder()) -> OffCpu {
        let [asleep, waited, throttled, locked, deaf] = times;
        OffCpu {
            asleep, waited, preemptions, holder, throttled, cgroup: CgroupId(1), locked, deaf, waker: holder,
            ..OffCpu::NONE
        }
    }
}

prop_compose! {
    fn leg()(
        times in prop::collection::vec(prop::option::of(nanos()), Stage::ALL.len()),
        hops in prop::array::uniform2(prop::collection::vec(hop(), 0..4)),
        ends in prop::array::uniform2(any::<SocketAddr>()), is_tcp: bool,
        threads in prop::array::uniform2(prop::option::of(task())),
        range in (any::<u64>(), any::<u64>()), numbers: [u32; 4], at in prop::option::of(nanos()), flags: [bool; 5],
    ) -> Leg {
        // Time never runs backwards in what the correlator hands out.
        let mut seen: Vec<Nanos> = times.iter().flatten().copied().collect();
        seen.sort_unstable();
        let mut seen = seen.into_iter();
        let mut stages = StageTimes::default();
        for (stage, time) in Stage::ALL.into_iter().zip(times) {
            if let Some(at) = time.and_then(|_| seen.next()) {
                stages.set(stage, at);
            }
        }
        let [in_flight, unsent, cwnd, mss] = numbers;
        let transport = if is_tcp { Transport::Tcp } else { Transport::Udp };
        let [chain, before] = hops;
        Leg {
            flow: FlowKey::new(transport, ends[0], ends[1], NetNs(0)),
            from: None, to: None, sender: threads[0], reader: threads[1], times: stages, chain, before,
            flow_range: FlowRange { range: ByteRange::new(Offset(range.0), range.1), ..FlowRange::default() },
            circumstances: Circumstances {
                socket: SenderSocket {
                    tx: is_tcp.then_some(TxState { in_flight, unsent, cwnd, mss, ..TxState::default() }),
                    send_len: in_flight, acked: at,
                    ..SenderSocket::default()
                },
                loss: LegLosses {
                    resent: flags[0], behind: flags[1], recovery: Some(Recovery::Fast),
                    in_write: at.unwrap_or_default(),
                    ..LegLosses::default()
                },
                path: LegPath { deferred: flags[2], ..LegPath::default() },
                request: MessageRequest { made: at, ..MessageRequest::default() },
                start_up: flags[3],
                fan_out: at.map(|first_sent| FanOut { position: cwnd, readers: mss, first_sent }),
                ..Circumstances::default()
            },
        }
    }
}

prop_compose! {
    fn message()(
        legs in prop::collection::vec(leg(), 1..=4), number: u64, payload_len: u64, off in off_cpu(),
        stamp in prop::option::of((any::<u32>(), any::<bool>(), any::<bool>())),
        fate in 0usize..4, cause in prop::option::of((0..VerdictKind::ALL.len(), nanos())),
    ) -> KeptMessage {
        let all = LegOffCpu {
            before_wakeup: Some(off), reader: Some(off), dwell: Some(off), sender: Some(off),
            before: off, handoff: off, writing: off, unread: off, ..LegOffCpu::NONE
        };
        let stamp = stamp.map(|(seq, reply, warmup)| Stamp { stream: 1, seq, reply, warmup });
        let delivery = Delivery {
            message: MessageId(number), group: GroupId(2), stamp, payload_len, topic: Some(TopicId(0)),
            clock_error: Nanos(0), trace: MessageTrace::default(),
            off_cpu: legs.iter().map(|_| all).collect(), legs: legs.into_iter().collect(),
        };
        let fate = [
            MessageFate::Delivered, MessageFate::Aside, MessageFate::Undelivered { at_end: false },
            MessageFate::Undelivered { at_end: true },
        ][fate];
        let one_way = delivery.one_way().filter(|_| fate == MessageFate::Delivered);
        let cause = cause.map(|(kind, time)| DelayCause {
            kind: VerdictKind::ALL[kind], leg: 0, segment: Segment::Wire, time,
        });
        KeptMessage { delivery: Arc::new(delivery), one_way, cause, fate }
    }
}

fn key() -> impl Strategy<Value = KeyEvent> {
    let letters = "nnye,./jkgGbqz6x:".chars().map(KeyCode::Char);
    let others = [
        KeyCode::Enter,
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::PageDown,
        KeyCode::PageUp,
        KeyCode::Left,
        KeyCode::Right,
    ];
    prop::sample::select(letters.chain(others).collect::<Vec<_>>()).prop_map(Into::into)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_messages_are_drawn(
        messages in prop::collection::vec(message(), 0..8), topic: String,
        keys in prop::collection::vec(key(), 0..12), wall in prop::option::of(any::<i64>()),
        width in 0u16..=250, height in 0u16..=80, color: bool,
    ) {
        let mut app = App::new();
        let topics = vec![(TopicId(0), topic.into())];
        let slice = Slice { messages, topics, ..Slice::default() };
        app.take(Update { snapshot: Arc::new(snapshots::five(83)), slice });
        app.refresh();
        app.set_wall(wall);
        let begin = [KeyCode::Down, KeyCode::Down, KeyCode::Char('6')].map(KeyEvent::from);
        for key in begin.into_iter().chain(keys) {
            app.on_key(key);
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| render::screen(frame, &app, theme(color))).unwrap();
            for cell in terminal.backend().buffer().content() {
                prop_assert!(!cell.symbol().contains(char::is_control));
            }
        }
    }
}

fn theme(color: bool) -> Theme {
    if color { Theme::DARK } else { Theme::NONE }
}
