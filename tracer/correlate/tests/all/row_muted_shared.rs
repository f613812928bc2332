//! A UDP socket of a row that the user has muted, and of another one.

use crate::row_muted::{Live, counts, figures};
use wirelap_correlate::SnapshotNote;
use wirelap_test_support::compose::rtps::Message;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::process;
use wirelap_test_support::world::udp::{Reported, datagram, end, flow};

/// The sockets of two rows: one of the first row's is in the second as well, and reads what comes for both.
#[test]
fn reads_of_a_socket_that_a_muted_row_shares_are_told_apart() {
    // Where reads do not name their packets, some of a shared socket are unknown, muted or not.
    let reported = Reported { identity: true, seen: true, entry: true };
    let mut live = Live::new();
    let far = end(&mut live.world, process(2, "sub"), "127.0.0.1:7413");
    let senders = [(1, "127.0.0.1:7411"), (3, "127.0.0.1:8000")];
    let senders = senders.map(|(pid, from)| {
        (end(&mut live.world, process(pid, "pub"), from), flow(from, "127.0.0.1:7413"))
    });
    let mut number = 0_u32;
    let mut send = |live: &mut Live, which: usize, count: u32| {
        for _ in 0..count {
            number += 1;
            let (near, way) = senders[which];
            let body = [&[0, 1, 0, 0], number.to_be_bytes().repeat(4).as_slice()].concat();
            let bytes = match which {
                0 => Message::new(true).data(0x0000_0b02, number.into(), &body).bytes,
                _ => payload(stamp(number), 64),
            };
            // Memory is used again, of whosever datagrams.
            let memory = u64::from(number % 3);
            datagram(&mut live.world, way, memory, near, &[far], &bytes, reported);
            live.world.now += 1_000_000;
        }
        live.catch_up();
    };
    send(&mut live, 0, 10);
    send(&mut live, 1, 10);
    let unknown = |live: &Live| {
        live.snapshot()
            .notes
            .iter()
            .any(|note| matches!(note, SnapshotNote::UnknownDatagrams { .. }))
    };
    assert!(!unknown(&live), "{:?}", live.snapshot().notes);
    let row = |live: &Live, middleware: &str| {
        let groups = live.snapshot().groups;
        groups.into_iter().find(|group| group.middleware == middleware).unwrap()
    };
    assert!(live.mute(row(&live, "dds").id));
    let before = row(&live, "dds");
    assert!(!live.correlator.muted_sockets(None).contains(&far.id));
    for _ in 0..5 {
        send(&mut live, 0, 4);
        send(&mut live, 1, 3);
    }
    live.wait(10);
    assert!(!unknown(&live), "{:?}", live.snapshot().notes);
    assert_eq!(figures(row(&live, "dds")), figures(before));
    assert_eq!(counts(&row(&live, "udp")), [25, 25, 25, 0, 0, 0]);
}
