//! Every registered protocol against its corpus: a new case is a new file in `corpus/<name>/`, a new
//! protocol a new folder. The format is described in `wirelap_test_support::transcript`.

use proptest::prelude::*;
use wirelap_events::Transport;
use wirelap_protocols::recognise::{ProtocolChoice, choose};
use wirelap_protocols::{Protocol, Side, registry};
use wirelap_test_support::exercise::check_everywhere;
use wirelap_test_support::player::{Chunk, Player};
use wirelap_test_support::{packed, segments, transcript};

/// Bytes up to which a transcript is tried with a cut at each of its bytes; of longer ones, so many
/// places are tried.
const EVERY_BYTE: usize = 2048;

#[test]
fn transcripts_give_the_frames_that_they_name() {
    for protocol in registry() {
        let mut named = 0;
        for transcript in transcript::of(*protocol) {
            let player = Player::new(*protocol, transcript.transport, transcript.mid_stream)
                .play(&transcript.chunks);
            let Some(frames) = &transcript.frames else { continue };
            let path = transcript.path.display();
            assert_eq!(
                player.texts(),
                *frames,
                "{path}\nfound:\n= {}",
                player.texts().join("\n= ")
            );
            assert_eq!(player.undecoded(), transcript.undecoded, "undecoded bytes in {path}");
            assert_eq!(player.pending(), 0, "pending bytes in {path}");
            named += frames.len();
        }
        assert!(named > 0, "{} has no transcript", protocol.name());
    }
}

#[test]
fn transcripts_are_recognised_by_their_first_packet() {
    for protocol in registry() {
        for transcript in transcript::of(*protocol).iter().filter(|t| t.recognised) {
            let head = &transcript.chunks[0].bytes;
            let choice = choose(transcript.transport, head, !transcript.mid_stream, [1, 2]);
            let ProtocolChoice::Protocol(chosen) = choice else {
                panic!("{}: {choice:?}", transcript.path.display())
            };
            assert_eq!(chosen.name(), protocol.name(), "{}", transcript.path.display());
        }
    }
}

#[test]
fn one_byte_segments_change_nothing() {
    for_each(|protocol, transport, chunks| check_everywhere(protocol, transport, chunks, || 1));
}

#[test]
fn a_capture_cut_at_any_byte_is_accounted_for() {
    for_each(|protocol, transport, chunks| {
        for (index, chunk) in chunks.iter().enumerate() {
            for kept in (0..chunk.bytes.len()).step_by(chunk.bytes.len() / EVERY_BYTE + 1) {
                let mut chunks = chunks.to_vec();
                let missing = (chunk.bytes.len() - kept) as u64;
                chunks[index].bytes.truncate(kept);
                chunks[index].missing += missing;
                Player::new(protocol, transport, false).play(&chunks);
                Player::new(protocol, transport, true).play(&chunks[index..]);
            }
        }
    });
}

#[test]
fn recognising_a_prefix_never_changes_its_mind() {
    for_each(|protocol, transport, chunks| {
        let Some(head) = chunks.first().map(|chunk| &chunk.bytes) else { return };
        for at_start in [true, false] {
            for len in 0..head.len().min(64) {
                // Any answer will do; a protocol that is sure of a prefix must be right.
                if let ProtocolChoice::Protocol(chosen) =
                    choose(transport, &head[..len], at_start, [1, 2])
                    && transport == Transport::Tcp
                    && let ProtocolChoice::Protocol(whole) =
                        choose(transport, head, at_start, [1, 2])
                {
                    assert_eq!(chosen.name(), whole.name(), "{} at {len}", protocol.name());
                }
            }
        }
    });
}

/// Calls `check` with each transcript, on the transport that it is for.
fn for_each(mut check: impl FnMut(&dyn Protocol, Transport, &[Chunk])) {
    for protocol in registry() {
        for transcript in transcript::of(*protocol) {
            check(*protocol, transcript.transport, &transcript.chunks);
        }
    }
}

#[test]
fn segments_that_fuzzing_found_are_accounted_for() {
    for script in transcript::hex_lines(include_bytes!("segments.fuzz")) {
        segments::play(&script);
    }
}

#[test]
fn packing_loses_nothing() {
    for_each(|_, transport, chunks| {
        let whole = |chunks: &[Chunk]| {
            chunks.iter().map(|chunk| (chunk.side, chunk.bytes.clone())).collect::<Vec<_>>()
        };
        let (again, unpacked) = packed::unpack(&packed::pack(transport, chunks));
        assert_eq!((again, whole(&unpacked)), (transport, whole(chunks)));
    });
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::A), Just(Side::B)]
}

fn chunks() -> impl Strategy<Value = Vec<Chunk>> {
    let chunk = (side(), prop::collection::vec(any::<u8>(), 0..200), 0..300_u64).prop_map(
        |(side, bytes, missing)| Chunk { side, bytes, missing: missing.saturating_sub(200) },
    );
    prop::collection::vec(chunk, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_segmentation_gives_the_same_frames(lens in prop::collection::vec(1..400_usize, 1..20)) {
        for_each(|protocol, transport, chunks| {
            let mut lens = lens.iter().copied().cycle();
            check_everywhere(protocol, transport, chunks, || lens.next().unwrap_or(1));
        });
    }

    #[test]
    fn random_bytes_are_accounted_for(chunks in chunks(), len in 1..64_usize) {
        for protocol in registry() {
            for transport in protocol.transports() {
                check_everywhere(*protocol, *transport, &chunks, || len);
                for chunk in &chunks {
                    let _ = choose(*transport, &chunk.bytes, len % 2 == 0, [1883, 7447]);
                }
            }
        }
    }

    #[test]
    fn any_segments_are_accounted_for(script in prop::collection::vec(any::<u8>(), 0..2000)) {
        segments::play(&script);
    }

    #[test]
    fn short_pdus_in_any_segments_are_accounted_for(
        script in prop::collection::vec(0..24_u8, 0..2000),
    ) {
        segments::play(&script);
    }

    #[test]
    fn damaged_transcripts_are_accounted_for(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        len in 1..64_usize,
    ) {
        for_each(|protocol, transport, chunks| {
            let mut chunks = chunks.to_vec();
            for (place, value) in &flips {
                let chunk = place.index(chunks.len());
                let bytes = &mut chunks[chunk].bytes;
                if !bytes.is_empty() {
                    let at = place.index(bytes.len());
                    bytes[at] ^= value;
                }
            }
            check_everywhere(protocol, transport, &chunks, || len);
        });
    }
}

/// Two bytes of the first packet are damaged, one of them in the length of its PDU, the other so many thousandths into it:
/// the head that tells how long its first piece is has to be longer than that piece.
#[test]
fn what_a_long_head_holds_back_is_read_again() {
    for (place, value) in [(116, 4), (275, 2), (687, 2)] {
        for_each(|protocol, transport, chunks| {
            let mut chunks = chunks.to_vec();
            let Some(first) = chunks.first_mut().filter(|chunk| chunk.bytes.len() > 1) else {
                return;
            };
            first.bytes[0] ^= 1;
            let at = first.bytes.len() * place / 1000;
            first.bytes[at] ^= value;
            check_everywhere(protocol, transport, &chunks, || 1);
        });
    }
}
