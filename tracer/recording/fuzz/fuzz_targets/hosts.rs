//! Three files of any bytes: their clocks are compared, and what can be put together is, to its end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wirelap_events::{Body, Event};
use wirelap_recording::hosts::merge::{MergedEvents, Placing, next_on_wall};
use wirelap_recording::hosts::{
    AddressNumbers, ClockLink, Clocks, Common, HostAddresses, Survey, common, merge, tree,
};
use wirelap_recording::{Entry, Recording};

const FILES: usize = 3;

fn survey(bytes: &[u8], addresses: &mut AddressNumbers) -> Option<Survey> {
    let mut recording = Recording::new(bytes).ok()?;
    let mut survey = Survey::of(FILES);
    while let Some(event) = next_on_wall(&mut recording) {
        if let Body::Packet(packet) = &event.body {
            survey.add(&event, packet, addresses);
        }
    }
    Some(survey)
}

/// Events of a file.
fn count(bytes: &[u8], is_one: impl Fn(&Event<'_>) -> bool) -> usize {
    let mut recording = Recording::new(bytes).expect("it was read");
    let mut count = 0;
    while let Some(entry) = recording.next() {
        count += usize::from(matches!(entry, Entry::Event(event) if is_one(&event)));
    }
    count
}

fuzz_target!(|bytes: &[u8]| {
    let files: Vec<&[u8]> = bytes.chunks(bytes.len().div_ceil(FILES).max(1)).collect();
    let mut addresses = AddressNumbers::default();
    let mut surveys = Vec::new();
    for file in &files {
        let Some(survey) = survey(file, &mut addresses) else { return };
        surveys.push(survey);
    }
    let (mut links, mut places) = (Vec::new(), HostAddresses::default());
    for b in 1..files.len() {
        for a in 0..b {
            let (before, after) = surveys.split_at_mut(b);
            let Common::Packets { samples, sides } =
                common(&mut before[a], &mut after[0], &addresses)
            else {
                continue;
            };
            let Ok(clocks) = Clocks::of(&samples) else { continue };
            links.push(ClockLink { files: [a, b], clocks, is_one_host: clocks.is_none() });
            places.add([a, b], sides);
        }
    }
    links.extend((0..files.len()).filter_map(|file| places.part(&surveys, file, &addresses)));
    let chains = tree(files.len(), &links);
    let Some(chains) = chains.into_iter().collect::<Option<Vec<_>>>() else { return };
    for what in [MergedEvents::Everything, MergedEvents::Packets] {
        let placing = |(file, chain): (usize, &_)| {
            let own = places.of(&[file]);
            Placing::new(Clone::clone(chain), file as u8 + 1, what, own.clone(), own)
        };
        let placings: Vec<Placing> = chains.iter().enumerate().map(placing).collect();
        let recordings = files.iter().map(|file| Recording::new(*file).expect("read"));
        let mut recordings: Vec<_> = recordings.collect();
        let mut seen = vec![0; files.len()];
        let merged = merge(&mut recordings, &placings, |file, entry| {
            seen[file] += usize::from(matches!(entry, Entry::Event(_)));
            Ok::<(), ()>(())
        });
        assert_eq!(merged, Ok(()));
        let is_packet = |event: &Event<'_>| matches!(event.body, Body::Packet(_));
        let is_wanted = |event: &Event<'_>| what == MergedEvents::Everything || is_packet(event);
        let expected: Vec<usize> = files.iter().map(|file| count(file, is_wanted)).collect();
        assert_eq!(seen, expected);
    }
});
