//! Waits for a CPU: how much of each there was no quota, and who had the CPU of the rest.

use super::explanation::Cause;
use super::kind::VerdictKind;
use wirelap_events::{Holder, Nanos, OffCpu, Tid};

/// Hands out the parts of `time`, which is all or a piece of the waits of `rested`; they add up to it. What nobody was
/// seen to have is contention if somebody had the rest, and otherwise nobody's.
pub fn parts(rested: &OffCpu, time: Nanos, mut out: impl FnMut(Cause, Nanos, Option<&Holder>)) {
    let throttled = scaled(rested.throttled, time, rested.waited);
    if throttled > Nanos(0) {
        out(Cause::Of(VerdictKind::CpuThrottled), throttled, None);
    }
    let (whole, mut left) = (rested.waited - rested.throttled, time - throttled);
    let all = left;
    let mut is_contended = false;
    for holder in rested.holders() {
        let held = scaled(holder.held, all, whole).min(left);
        if held == Nanos(0) {
            continue;
        }
        left -= held;
        let cause = cause_of(holder);
        is_contended |= cause == Cause::Of(VerdictKind::RunQueueContention);
        let named =
            (cause != Cause::Of(VerdictKind::IdleWakeup)).then_some(Holder { held, ..*holder });
        out(cause, held, named.as_ref());
    }
    let others = scaled(rested.rest, all, whole).min(left);
    if others > Nanos(0) {
        left -= others;
        is_contended = true;
        out(Cause::Of(VerdictKind::RunQueueContention), others, Some(&Holder::several(others)));
    }
    if left > Nanos(0) {
        let cause =
            if is_contended { Cause::Of(VerdictKind::RunQueueContention) } else { Cause::Ordinary };
        out(cause, left, None);
    }
}

/// `part` of `whole`, of `time` instead.
fn scaled(part: Nanos, time: Nanos, whole: Nanos) -> Nanos {
    if time >= whole {
        return part.min(time);
    }
    part.share(time, whole).min(time)
}

fn cause_of(holder: &Holder) -> Cause {
    Cause::Of(if holder.task.tid == Tid(0) {
        VerdictKind::IdleWakeup
    } else {
        VerdictKind::RunQueueContention
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Comm, Pid, TaskId};

    const CONTENDED: Cause = Cause::Of(VerdictKind::RunQueueContention);
    const THROTTLED: Cause = Cause::Of(VerdictKind::CpuThrottled);

    fn holder(tid: u32, name: &str, held: u64) -> Holder {
        let task = TaskId { pid: Pid(tid), tid: Tid(tid) };
        Holder { task, comm: Comm::from_name(name), held: Nanos(held) }
    }

    fn rested(waited: u64, throttled: u64, holders: &[Holder]) -> OffCpu {
        let (waited, throttled) = (Nanos(waited), Nanos(throttled));
        let mut rested = OffCpu { waited, throttled, ..OffCpu::NONE };
        for holder in holders {
            rested.add_holder(holder);
        }
        rested
    }

    /// Cause, time and the thread's id, 0 for nobody.
    fn all(rested: &OffCpu, time: u64) -> Vec<(Cause, u64, u32)> {
        let mut found = Vec::new();
        parts(rested, Nanos(time), |cause, time, holder| {
            found.push((cause, time.0, holder.map_or(0, |holder| holder.task.tid.0)));
            assert!(holder.is_none_or(|holder| holder.held == time));
        });
        assert_eq!(found.iter().map(|part| part.1).sum::<u64>(), time);
        found
    }

    #[test]
    fn what_nobody_was_seen_to_have_is_not_somebodys() {
        let known = holder(5, "hog", 42);
        assert_eq!(
            all(&rested(96_000, 0, &[known]), 96_000),
            [(CONTENDED, 42, 5), (CONTENDED, 95_958, 0)]
        );
        let idle = holder(0, "swapper/0", 42);
        assert_eq!(
            all(&rested(96, 0, &[idle]), 96),
            [(Cause::Of(VerdictKind::IdleWakeup), 42, 0), (Cause::Ordinary, 54, 0)]
        );
        assert_eq!(all(&rested(96, 0, &[]), 96), [(Cause::Ordinary, 96, 0)]);
    }

    #[test]
    fn what_several_had_is_contention() {
        let mut rested = rested(100, 0, &[holder(5, "hog", 40)]);
        rested.rest = Nanos(50);
        let several = Holder::SEVERAL.0;
        let parts = [(CONTENDED, 40, 5), (CONTENDED, 50, several), (CONTENDED, 10, 0)];
        assert_eq!(all(&rested, 100), parts);
    }

    #[test]
    fn quota_comes_first() {
        let both = [holder(5, "hog", 20), holder(9, "other", 10)];
        assert_eq!(
            all(&rested(100, 70, &both), 100),
            [(THROTTLED, 70, 0), (CONTENDED, 20, 5), (CONTENDED, 10, 9)]
        );
    }

    #[test]
    fn a_piece_of_a_wait_has_its_share_of_everything() {
        let hog = holder(5, "hog", 30);
        assert_eq!(
            all(&rested(100, 60, &[hog]), 50),
            [(THROTTLED, 30, 0), (CONTENDED, 15, 5), (CONTENDED, 5, 0)]
        );
        // A caller that knows of more than was followed.
        assert_eq!(
            all(&rested(100, 60, &[hog]), 120),
            [(THROTTLED, 60, 0), (CONTENDED, 30, 5), (CONTENDED, 30, 0)]
        );
    }
}
