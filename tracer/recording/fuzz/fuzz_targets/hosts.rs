//! Two files of any bytes: their clocks are compared, and what can be put together is, to its end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wirelap_events::{Body, Event};
use wirelap_recording::hosts::merge::{Placing, What, next_on_wall};
use wirelap_recording::hosts::{Addresses, Clocks, Common, Host, Survey, common, merge};
use wirelap_recording::{Entry, Recording};

fn survey(bytes: &[u8], addresses: &mut Addresses) -> Option<Survey> {
    let mut recording = Recording::new(bytes).ok()?;
    let mut survey = Survey::default();
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
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let mut addresses = Addresses::default();
    let Some(mut one) = survey(first, &mut addresses) else { return };
    let Some(mut two) = survey(second, &mut addresses) else { return };
    let Common::Packets { samples, ours, theirs } = common(&mut one, &mut two, &addresses) else {
        return;
    };
    let Ok(Some(clocks)) = Clocks::of(&samples) else { return };
    for what in [What::Everything, What::Packets] {
        let placing = Placing::new(clocks, what, &ours, &theirs);
        let [mut one, mut two] = [first, second].map(|half| Recording::new(half).expect("read"));
        let mut seen = [0, 0];
        let merged = merge(&mut one, &mut two, &placing, |host, entry| {
            let is_event = matches!(entry, Entry::Event(_));
            seen[usize::from(host == Host::Second)] += usize::from(is_event);
            Ok::<(), ()>(())
        });
        assert_eq!(merged, Ok(()));
        let is_packet = |event: &Event<'_>| matches!(event.body, Body::Packet(_));
        let expected = [first, second]
            .map(|half| count(half, |event| what == What::Everything || is_packet(event)));
        assert_eq!(seen, expected);
    }
});
