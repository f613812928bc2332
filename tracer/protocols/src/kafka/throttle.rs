//! Time for which a broker does not read a client that has exceeded a quota (KIP-124, KIP-219).
//!
//! ```text
//! ProduceResponse 6-13                          FetchResponse 8-18
//!   … (`stored`)                                  i32 throttle time (ms)
//!   i32 throttle time (ms)                        …
//! ```
//!
//! Since these versions, a broker answers at once and leaves the connection unread for the throttle time. Before, it kept the answer for so
//! long.

use super::apis::{ApiCall, FETCH, PRODUCE};
use super::fields::{KafkaFields, KafkaResult};
use super::stored;
use wirelap_events::Nanos;

/// Returns the time for which the connection is not read after this response; `None` if it is read, or if that is not known.
pub(super) fn of_response(call: ApiCall, body: KafkaFields<'_>) -> Option<Nanos> {
    let found = match call.key {
        PRODUCE if (6..=13).contains(&call.version) => stored::read(call, body, |_| ()),
        FETCH if (8..=18).contains(&call.version) => of_fetch(body),
        _ => return None,
    };
    let milliseconds = found.ok().and_then(|time| u64::try_from(time).ok())?;
    (milliseconds > 0).then(|| Nanos::from_millis(milliseconds))
}

fn of_fetch(mut body: KafkaFields<'_>) -> KafkaResult<i32> {
    body.i32()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Produce response of version 10 to a batch in partition 0 of `t1`, with the throttle time that a Kafka 4.3 broker sent under a quota.
    const PRODUCED: [u8; 44] = [
        2, 3, b't', b'1', 2, // Topics, partitions.
        0, 0, 0, 0, 0, 0, // Index and error.
        0, 0, 0, 0, 0, 0, 0, 7, // Base offset.
        255, 255, 255, 255, 255, 255, 255, 255, // Append time.
        0, 0, 0, 0, 0, 0, 0, 0, // Log start offset.
        1, 0, 0, 0, // No record errors, no message, two tag buffers.
        0, 0, 0, 0xce, 0,
    ];

    fn produced(version: i16, bytes: &[u8]) -> Option<Nanos> {
        let call = ApiCall { key: PRODUCE, version };
        let body = KafkaFields::new(bytes, bytes.len() as u64).flexible(call.is_flexible());
        of_response(call, body)
    }

    #[test]
    fn the_time_is_after_all_partitions_of_a_produce_response() {
        let whole = &PRODUCED[..];
        assert_eq!(produced(10, whole), Some(Nanos::from_millis(206)));
        for len in 0..43 {
            assert_eq!(produced(10, &whole[..len]), None, "{len}");
        }
        assert_eq!(produced(5, whole), None, "the broker has waited already");
    }

    #[test]
    fn the_time_is_first_in_a_fetch_response() {
        let fetched = |version, time: i32| {
            let bytes = time.to_be_bytes();
            of_response(ApiCall { key: FETCH, version }, KafkaFields::new(&bytes, 4))
        };
        assert_eq!(fetched(16, 9_922), Some(Nanos::from_millis(9_922)));
        assert_eq!((fetched(16, 0), fetched(16, -1), fetched(7, 5)), (None, None, None));
    }
}
