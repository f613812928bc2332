//! Single messages: each figure on the screen is one of the delivery.

use crate::figure::{Figure, after, assert_shows, before};
use crate::{SIZE, cut};
use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::collections::BTreeMap;
use std::sync::Arc;
use wirelap_events::{Delivery, Nanos, Offset, Segment};
use wirelap_history::{KeptMessage, MessageFate, Slice, Update};
use wirelap_test_pipeline::deliveries::{self, MadeUp};
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{App, Theme, render};

/// Columns of the facts beside the waterfall.
const FACTS: usize = SIZE.0 as usize * 2 / 5;

fn message(made: MadeUp) -> KeptMessage {
    let one_way = made.delivery.one_way();
    let delivery = Arc::new(made.delivery);
    KeptMessage { delivery, one_way, cause: made.cause, fate: MessageFate::Delivered }
}

/// The lines of the screen with the messages of the brokered row, after these keys.
fn screen(messages: Vec<KeptMessage>, keys: &[KeyCode]) -> Vec<String> {
    let mut app = App::new();
    let snapshot = Arc::new(snapshots::five(83));
    app.take(Update { snapshot, slice: Slice { messages, ..Slice::default() } });
    app.refresh();
    for key in [KeyCode::Down, KeyCode::Down, KeyCode::Char('6')].iter().chain(keys) {
        app.on_key((*key).into());
    }
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap();
    terminal.draw(|frame| render::screen(frame, &app, Theme::DARK)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..SIZE.0).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..SIZE.1).map(line).collect()
}

/// The facts by their labels, those of a leg behind its label: `leg 1 bytes`.
fn facts(lines: &[String]) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> = BTreeMap::new();
    let (mut label, mut leg) = (String::new(), String::new());
    let from = usize::from(SIZE.0) - FACTS;
    for line in lines.iter().skip_while(|line| !line.starts_with("─ #")).skip(1) {
        let (name, value) = (cut(line, from, from + 9), cut(line, from + 10, SIZE.0.into()));
        if !name.is_empty() {
            if name.starts_with("leg ") {
                leg.clone_from(&name);
            }
            format!("{leg} {name}").trim().clone_into(&mut label);
        }
        let text = facts.entry(label.clone()).or_default();
        text.push_str(&value);
        text.push(' ');
    }
    facts
}

#[test]
fn each_figure_of_a_message_is_in_its_delivery() {
    for made in deliveries::all().into_iter().skip(39) {
        let message = message(made);
        let lines = screen(vec![message.clone()], &[KeyCode::Enter]);
        assert_waterfall(&lines, &message.delivery);
        assert_facts(&facts(&lines), &message);
    }
}

/// The segments of the waterfall have the times of the delivery's.
fn assert_waterfall(lines: &[String], delivery: &Delivery) {
    let mut expected: Vec<(usize, Segment, Nanos)> = delivery
        .segments()
        .flat_map(|(leg, segments)| {
            segments.iter().map(|(s, time)| (leg + 1, s, time)).collect::<Vec<_>>()
        })
        .filter(|(_, _, time)| *time > Nanos(0))
        .collect();
    for line in lines.iter().skip_while(|line| !line.starts_with("  LEG SEGMENT")).skip(1) {
        let Ok(leg) = cut(line, 2, 4).parse::<usize>() else { continue };
        let name = cut(line, 6, 19);
        let Some(segment) = Segment::ALL.into_iter().find(|one| one.name() == name) else {
            assert!(name.starts_with('·'), "{line}");
            continue;
        };
        let at = expected.iter().position(|one| (one.0, one.1) == (leg, segment));
        let (_, _, time) = expected.remove(at.unwrap_or_else(|| panic!("{line}")));
        assert_shows(&name, Figure::parse(&cut(line, 19, 28)).unwrap(), time.0 as f64);
    }
    assert!(expected.is_empty(), "not shown: {expected:?}");
}

fn assert_facts(facts: &BTreeMap<String, String>, message: &KeptMessage) {
    let delivery = &message.delivery;
    let place = format!("{:?}", delivery.message);
    let show = |shown: Figure, number: u64| assert_shows(&place, shown, number as f64);
    show(after(&facts["message"], "number "), delivery.stamp.unwrap().seq.into());
    show(after(&facts["message"], "wirelap's number "), delivery.message.0);
    show(after(&facts["message"], "payload "), delivery.payload_len);
    show(Figure::parse(&facts["one-way"]).unwrap(), message.one_way.unwrap().0);
    let sum = |wanted: fn(Segment) -> bool| {
        let all = delivery.segments().map(|(_, segments)| {
            segments.iter().filter(|(s, _)| wanted(*s)).map(|(_, time)| time.0).sum::<u64>()
        });
        all.sum::<u64>()
    };
    show(after(&facts["one-way"], "gap "), sum(Segment::is_sched_gap));
    show(after(&facts["one-way"], "dwell "), sum(|segment| segment == Segment::BrokerDwell));
    if let Some(cause) = message.cause {
        show(before(&facts["held up"], " more than"), cause.time.0);
        show(after(&facts["held up"], "in leg "), cause.leg as u64 + 1);
    }
    for (index, leg) in delivery.legs.iter().enumerate() {
        let fact = |label: &str| &facts[&format!("leg {} {label}", index + 1)];
        let (bytes, tcp) = (fact("bytes"), fact("tcp"));
        let (range, seen) = (leg.flow_range.range, leg.circumstances);
        let tx = seen.socket.tx.unwrap();
        assert!(fact(&format!("leg {}", index + 1)).starts_with(&leg.flow.to_string()));
        show(Figure::parse(bytes).unwrap(), range.len());
        show(after(bytes, "payload "), delivery.payload_len);
        show(after(bytes, "protocol "), range.len() - delivery.payload_len);
        show(after(bytes, "from byte "), range.start.0 - Offset::START.0);
        show(after(bytes, "last byte had "), seen.socket.send_len.into());
        show(after(tcp, "in flight "), tx.in_flight.into());
        show(after(tcp, "B in "), tx.segments_out.into());
        show(after(tcp, "unsent "), tx.unsent.into());
        show(after(tcp, "cwnd "), tx.cwnd.into());
        show(after(tcp, "segments of "), tx.mss.into());
        show(after(tcp, "receive window "), tx.window.into());
        show(after(tcp, "send buffer "), tx.send_buffer.into());
        if let Some(acked) = seen.socket.acked {
            let sent = leg.times.get(wirelap_events::Stage::Sent).unwrap();
            show(after(fact("acked"), "came "), (acked - sent).0);
        }
        if let Some(hop) = leg.chain.first().filter(|hop| hop.holder.held > Nanos(0)) {
            show(after(fact("woken"), "had the CPU for "), hop.holder.held.0);
            show(after(fact("woken"), "off the CPU for "), (hop.woken - hop.left.unwrap()).0);
        }
    }
}

#[test]
fn each_figure_of_the_list_is_in_its_delivery() {
    let messages: Vec<KeptMessage> = deliveries::all().into_iter().map(message).collect();
    let lines = screen(messages.clone(), &[]);
    let since = snapshots::five(83).since;
    let mut slowest: Vec<&KeptMessage> = messages.iter().collect();
    slowest.sort_by_key(|message| std::cmp::Reverse(message.one_way));
    let rows = lines.iter().skip_while(|line| !line.contains("SINCE START")).skip(1);
    let rows = rows.take_while(|line| !cut(line, 2, 14).is_empty());
    let mut shown = 0;
    for (line, message) in rows.zip(slowest) {
        shown += 1;
        let one_way = message.one_way.unwrap().0 as f64;
        assert_shows(line, Figure::parse(&cut(line, 25, 32)).unwrap(), one_way);
        let clock = cut(line, 2, 14);
        let seconds =
            clock.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap());
        let began = (message.began() - since).as_secs_f64();
        assert!((0.0..0.001).contains(&(began - seconds)), "{line}: {began}");
    }
    assert_eq!(shown, messages.len());
}
