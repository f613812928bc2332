//! Other protocols are no row: met first or joined late, seen from both sides or one, on any port, in any packets.

mod talks;

use crate::played::Played;
use std::collections::BTreeMap;
use talks::Talk;
use wirelap_correlate::Config;
use wirelap_events::Body;
use wirelap_test_support::random::Random;
use wirelap_test_support::world::udp::{ALL, datagram, end, flow};
use wirelap_test_support::world::{Way, World, process};

/// The view of a conversation that the tracer gets.
#[derive(Clone, Copy, Debug)]
struct View {
    /// From its first byte. If not: from this message on, of which some bytes are missed.
    start: Option<(usize, usize)>,
    /// Nothing but packets.
    packets_only: bool,
    /// The direction that is seen, if it is one.
    only: Option<bool>,
}

/// The cut of messages into packets.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// Each in its own.
    Message,
    /// Packets of this many bytes of all that one side says at once.
    Stream(usize),
    /// Packets of random lengths.
    Random,
}

/// The packets of what each side says at once.
fn packets(said: &[(bool, Vec<u8>)], cut: Cut, random: &mut Random) -> Vec<(bool, Vec<u8>)> {
    let mut out = Vec::new();
    for turn in said.chunk_by(|a, b| a.0 == b.0) {
        let is_up = turn[0].0;
        let all: Vec<u8> = turn.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        match cut {
            Cut::Message => out.extend(turn.iter().cloned()),
            Cut::Stream(len) => out.extend(all.chunks(len).map(|part| (is_up, part.to_vec()))),
            Cut::Random => {
                let mut rest = &all[..];
                while !rest.is_empty() {
                    let (part, tail) = rest.split_at(rest.len().min(1 + random.below(40)));
                    out.push((is_up, part.to_vec()));
                    rest = tail;
                }
            }
        }
    }
    out
}

fn send(world: &mut World, way: &mut Way, bytes: &[u8]) {
    let (start, len) = way.advance(bytes.len());
    let way = *way;
    world.send(&way, start, len);
    world.xmit(&way, start, bytes);
    world.rx(&way, start, len);
    world.ready(&way, way.next);
    world.read(&way, way.next, len);
}

/// The row that a conversation makes, if it does.
fn row(talk: &Talk, port: u16, view: View, cut: Cut) -> Option<(String, String)> {
    let mut random = Random::new(9);
    let mut world = World::new();
    let (client, server) = (process(10, "client"), process(20, "server"));
    let (from, to) = ("127.0.0.1:40000", format!("127.0.0.1:{port}"));
    let (first, missed) = view.start.unwrap_or_default();
    let mut said: Vec<_> = talk.said.iter().skip(first).cloned().collect();
    if let Some((_, first)) = said.first_mut() {
        first.drain(..missed.min(first.len().saturating_sub(1)));
    }
    said.retain(|(is_up, _)| view.only.is_none_or(|only| only == *is_up));
    if talk.is_udp {
        let ends = [end(&mut world, client, from), end(&mut world, server, &to)];
        for (n, (is_up, bytes)) in said.iter().enumerate() {
            let (a, b) = if *is_up { (0, 1) } else { (1, 0) };
            let key = if *is_up { flow(from, &to) } else { flow(&to, from) };
            datagram(&mut world, key, n as u64 + 1, ends[a], &[ends[b]], bytes, ALL);
            world.now += 1_000_000;
        }
    } else {
        let mut pair = match view.start {
            None => world.connect(client, from, server, &to),
            Some(_) => world.existing(client, from, server, &to),
        };
        for (is_up, bytes) in packets(&said, cut, &mut random) {
            let way = if is_up { &mut pair.up } else { &mut pair.down };
            send(&mut world, way, &bytes);
            world.now += 1_000_000;
        }
    }
    if view.packets_only {
        world.events.retain(|told| matches!(told.event.body, Body::Packet(_)));
    }
    let config = Config { packets_only: view.packets_only, ..Config::default() };
    let played = Played::new(config, &world.events);
    let row = played.snapshot.groups.first()?;
    Some((row.middleware.clone(), format!("on {port}, {view:?}, {cut:?}")))
}

const CUTS: [Cut; 5] =
    [Cut::Message, Cut::Stream(1_448), Cut::Stream(7), Cut::Stream(536), Cut::Random];

/// Ports at which our protocols are at home.
const OURS: [u16; 12] = [1883, 4222, 9092, 7447, 7446, 4840, 2018, 2019, 8888, 7400, 7410, 7411];

/// No conversation in another protocol makes a row, on its own port, on any, and on each where one of ours is at home.
fn assert_no_row(view: View) {
    let mut wrong = BTreeMap::<_, (u32, String)>::new();
    for talk in talks::all() {
        let ports = [talk.port, 7_831].into_iter().chain(OURS);
        for port in ports {
            for cut in CUTS.into_iter().take(if talk.is_udp { 1 } else { CUTS.len() }) {
                if let Some((found, how)) = row(&talk, port, view, cut) {
                    wrong.entry((talk.name, found)).or_insert((0, how)).0 += 1;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
}

/// A test for each way in which conversations are seen: together they take a minute.
macro_rules! no_row {
    ($($name:ident: $start:expr, $packets_only:expr, $only:expr;)*) => {
        $(#[test]
        fn $name() {
            assert_no_row(View { start: $start, packets_only: $packets_only, only: $only });
        })*
    };
}

no_row! {
    from_the_beginning: None, false, None;
    packets_from_the_beginning: None, true, None;
    packets_from_the_first_message: Some((0, 0)), true, None;
    from_the_second_message: Some((1, 0)), false, None;
    packets_from_within_the_eighth_message: Some((7, 3)), true, None;
    packets_from_the_twenty_first_message: Some((20, 0)), true, None;
    one_direction_from_the_beginning: None, false, Some(true);
    the_other_direction_from_the_beginning: None, false, Some(false);
    packets_of_one_direction_from_the_fifth_message: Some((4, 0)), true, Some(true);
    packets_of_the_other_direction_from_within_the_tenth_message: Some((9, 1)), true, Some(false);
}
