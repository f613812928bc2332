//! Large messages to or from a server whose protocol another connection has shown, joined in mid-stream: the socket is
//! always full, so that no packet and no write begins with a message, and the other direction says nothing.

use crate::joined::{CASES, Case};
use crate::played::Played;
use wirelap_test_support::world::{World, process};

/// The server listens on all addresses: its clients know it by different ones.
const NEAR: &str = "127.0.0.1:7831";
const FAR: &str = "10.0.0.1:7831";

/// Enough small messages to recognise any protocol by.
const SHOWN: u32 = 24;

/// The middlewares and their sent messages after a client that is joined `skipped` bytes into `count` messages of `size` bytes.
fn sent(case: &Case, size: usize, count: u32, skipped: usize, chunk: usize) -> Vec<(String, u64)> {
    let mut world = World::new();
    let server = process(10, "server");
    let mut near = world.existing(process(20, "near"), "127.0.0.1:41000", server, NEAR);
    let mut far = world.existing(process(30, "far"), "10.0.0.2:42000", server, FAR);
    for n in 0..SHOWN {
        world.message(&mut near.up, &(case.encode)(n, 300));
    }
    // The last write is far behind what is still in the socket.
    let last = far.up.next.plus(1 << 24);
    world.send(&far.up, last, 1_500);
    let stream: Vec<u8> = (1..=count).flat_map(|n| (case.encode)(n, size)).collect();
    for bytes in stream[skipped..].chunks(chunk) {
        world.message(&mut far.up, bytes);
    }
    let groups = Played::of(&world).snapshot.groups;
    groups.into_iter().map(|group| (group.middleware.clone(), group.messages.sent)).collect()
}

#[test]
fn what_the_server_speaks_is_recognised_in_a_full_socket() {
    let mut wrong = Vec::new();
    for case in &CASES {
        for (size, count) in [(1_500, 60), (8_000, 24), (40_000, 12), (200_000, 10)] {
            for skipped in [1, 700, 1_400] {
                let found = sent(case, size, count, skipped, 1_152);
                let [(name, sent)] = found.as_slice() else {
                    wrong.push(format!("{} {size} {skipped}: {found:?}", case.name));
                    continue;
                };
                // One began before; some pass until it is recognised.
                let least = u64::from(SHOWN + count) - 4;
                let most = u64::from(SHOWN + count) - 1;
                if name != case.name || !(least..=most).contains(sent) {
                    wrong.push(format!("{} {size} {skipped}: {sent} of {most}", case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
