//! The clock of events: the kernel's `CLOCK_MONOTONIC`, which BPF programs read with `bpf_ktime_get_ns()`.
//!
//! A process in a time namespace reads a clock that differs from it by a constant offset.

/// The file with the offsets of the clocks in a process's time namespace (`time_namespaces(7)`).
pub const OFFSETS: &str = "/proc/self/timens_offsets";

/// The nanoseconds that `CLOCK_MONOTONIC` of a time namespace is ahead of the kernel's, by the text of [`OFFSETS`]; 0 if the text
/// does not contain them.
pub fn offset(text: &str) -> i64 {
    let parts = text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        words.next().filter(|clock| *clock == "monotonic")?;
        Some((words.next()?.parse::<i64>().ok()?, words.next()?.parse::<i64>().ok()?))
    });
    let (seconds, nanos) = parts.unwrap_or_default();
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_may_be_ahead_or_behind() {
        assert_eq!(offset("monotonic           0         0\nboottime            5         0\n"), 0);
        assert_eq!(offset("monotonic 100000 7\nboottime 0 0\n"), 100_000_000_000_007);
        assert_eq!(offset("boottime 9 9\nmonotonic -2 500000000\n"), -1_500_000_000);
        assert_eq!(offset("monotonic"), 0);
        assert_eq!(offset(""), 0);
    }
}
