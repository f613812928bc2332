//! Reads any bytes as a script of packets for the reassembly and checks what comes out. Used by the
//! fuzz target, and by the tests that replay its corpus.
//!
//! ```text
//! +------+---------------+--------+---------+
//! | verb | at, 2 bytes BE| length | missing |   repeated to the end
//! +------+---------------+--------+---------+
//! ```

use wirelap_correlate::{ParkingLimits, Piece, Reassembly};
use wirelap_events::{Nanos, Offset};

const LIMITS: ParkingLimits = ParkingLimits { bytes: 512, packets: 8 };

/// The flow's byte at an offset.
fn byte(at: u64) -> u8 {
    (at % 251) as u8
}

fn check(next: &mut Option<u64>, piece: Piece<'_>) {
    let (at, len) = match piece {
        Piece::Bytes { at, bytes, missing } => {
            for (index, &got) in bytes.iter().enumerate() {
                assert_eq!(got, byte(at.0 + index as u64));
            }
            (at.0, bytes.len() as u64 + missing)
        }
        Piece::Gap { at, len } => (at.0, len),
    };
    assert!(len > 0 && next.is_none_or(|next| next == at));
    *next = Some(at + len);
}

/// Runs one script.
pub fn run(script: &[u8]) {
    let mut reassembly = Reassembly::new(LIMITS);
    let mut next = None;
    for (step, line) in script.chunks_exact(5).enumerate() {
        let now = Nanos(step as u64);
        let at = u64::from(line[1]) << 8 | u64::from(line[2]);
        let out = &mut |piece: Piece<'_>| check(&mut next, piece);
        match line[0] % 8 {
            0 => reassembly.passed(Offset(at), out),
            1 => reassembly.give_up(Nanos(now.0.saturating_sub(at)), out),
            2 => reassembly.interrupt(out),
            3 => reassembly.resume_at(Offset(at), out),
            4 => reassembly.start_at(Offset(at)),
            _ => {
                let bytes: Vec<u8> = (at..at + u64::from(line[3])).map(byte).collect();
                reassembly.packet(Offset(at), &bytes, u64::from(line[4] & 15), now, out);
            }
        }
        assert!(reassembly.parked_bytes() <= LIMITS.bytes);
    }
}
