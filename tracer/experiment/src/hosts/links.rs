//! Properties of the links between hosts.

use std::time::Duration;
use wirelap_report::HostLinks;

/// The bytes that wait before a link if the user gives a rate and no queue.
const DEFAULT_QUEUE: u64 = 256 << 10;

/// A queue must hold a few frames of Ethernet.
const LEAST_QUEUE: u64 = 4 << 10;

/// The least rate, in bits a second: at less, a single frame takes longer than a second.
const LEAST_RATE: u64 = 16_000;

/// The bytes that a link passes at once: two frames of Ethernet, or at high rates as many as pass in [`BURST_MICROS`], because the
/// kernel's timer cannot release frames one by one.
const BURST: u64 = 2 * 1514;

/// The microseconds of [`BURST`].
const BURST_MICROS: u64 = 100;

/// The link of each host. Without a rate and a delay, frames pass at the speed of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Rate at which each host can send, in bits a second; no limit if `None`.
    pub rate_bit_per_s: Option<u64>,
    /// The bytes that wait at most before a frame is dropped; needs a rate.
    pub queue_bytes: Option<u64>,
    /// Delay of frames on their way to a host.
    pub delay: Option<Duration>,
}

impl Links {
    /// Links with these values. One with a rate has a queue.
    pub fn new(
        rate_bit_per_s: Option<u64>,
        queue_bytes: Option<u64>,
        delay: Option<Duration>,
    ) -> Links {
        let queue_bytes = queue_bytes.or(rate_bit_per_s.map(|_| DEFAULT_QUEUE));
        Links { rate_bit_per_s, queue_bytes, delay }
    }

    /// Checks that the values go together.
    ///
    /// # Errors
    /// They do not; the text says what to do.
    pub fn check(&self) -> Result<(), String> {
        if self.delay.is_some_and(|delay| delay.subsec_nanos() % 1000 != 0) {
            return Err("--link-delay is made in whole microseconds: give one such as 250us".into());
        }
        let Some(rate) = self.rate_bit_per_s else {
            return match self.queue_bytes {
                Some(_) => Err(
                    "--link-queue is the queue before a link with a rate: add --link-rate, or remove it".into(),
                ),
                None => Ok(()),
            };
        };
        if rate < LEAST_RATE {
            return Err(format!(
                "--link-rate: at {rate} bit/s a single frame takes about a second: give at least 16Kbit"
            ));
        }
        let queue = self.queue_bytes.unwrap_or_default();
        if queue < LEAST_QUEUE || u32::try_from(queue).is_err() {
            return Err("--link-queue must be from 4K to 4095M".into());
        }
        Ok(())
    }

    /// The bytes that a link of this rate passes at once.
    pub fn burst_bytes(rate_bit_per_s: u64) -> u64 {
        let in_time = (rate_bit_per_s / 8).saturating_mul(BURST_MICROS) / 1_000_000;
        in_time.max(BURST)
    }

    /// The links as reports describe them.
    pub fn report(&self) -> HostLinks {
        HostLinks {
            rate_bit_per_s: self.rate_bit_per_s,
            queue_bytes: self.queue_bytes,
            delay_ns: self.delay.map(|delay| u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_a_queue_and_a_queue_needs_a_rate() {
        let links = |rate, queue| Links::new(rate, queue, None);
        assert_eq!(links(Some(1_000_000), None).queue_bytes, Some(256 << 10));
        assert_eq!(links(Some(1_000_000), None).check(), Ok(()));
        assert_eq!((links(None, None), links(None, None).check()), (Links::default(), Ok(())));
        for (rate, queue, why) in [
            (None, Some(9000), "add --link-rate"),
            (Some(15_999), None, "at least 16Kbit"),
            (Some(1_000_000), Some(4095), "from 4K"),
            (Some(1_000_000), Some(1 << 32), "to 4095M"),
        ] {
            let error = links(rate, queue).check().unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_burst_is_two_frames_or_a_tenth_of_a_millisecond() {
        assert_eq!(Links::burst_bytes(10_000_000), 3028);
        assert_eq!(Links::burst_bytes(1_000_000_000), 12_500);
    }
}
