//! Layout of threads' waits and CPU quotas in a record.
//!
//! ```text
//! Wake    task | rest | left | woken | waker | from_irq | migrated | holder
//!         | throttled | cgroup | sleep | waker's name | number of others | others
//!         | missed, if it is true or a rest follows | rest, if there is one
//! Quota   cgroup | task | version 2 | quota | period | periods | throttled periods | throttled
//!         | length of the name (unsigned) | name
//! ```
//! The first recordings have a `Wake` that ends with its holder.

use super::value::fields;
use super::{WireReader, WireValue, WireWriter};
use wirelap_events::{Holder, Nanos, Quota, TaskId, Wake};

impl WireValue for Wake {
    fn put<W: WireWriter>(&self, out: &mut W) {
        let Wake { task, reason: rest, left, woken, waker, from_irq, migrated, holder, .. } = self;
        task.put(out);
        rest.put(out);
        left.put(out);
        woken.put(out);
        waker.put(out);
        from_irq.put(out);
        migrated.put(out);
        holder.put(out);
        out.end(false);
        let Wake { throttled, cgroup, sleep, waker_comm, others, .. } = self;
        throttled.put(out);
        cgroup.put(out);
        sleep.put(out);
        out.name(self.waker.tid, waker_comm);
        let last = others.iter().rposition(|holder| *holder != Holder::NOBODY);
        let others = &others[..last.map_or(0, |last| last.saturating_add(1))];
        out.unsigned(others.len() as u64);
        for holder in others {
            holder.put(out);
        }
        let has_rest = self.rest > Nanos(0);
        out.end(!self.missed && !has_rest);
        if self.missed || has_rest {
            self.missed.put(out);
            out.end(!has_rest);
        }
        if has_rest {
            self.rest.put(out);
        }
    }

    fn take<R: WireReader>(from: &mut R) -> Option<Wake> {
        let mut wake = Wake {
            task: WireValue::take(from)?,
            reason: WireValue::take(from)?,
            left: WireValue::take(from)?,
            woken: WireValue::take(from)?,
            waker: WireValue::take(from)?,
            from_irq: WireValue::take(from)?,
            migrated: WireValue::take(from)?,
            holder: WireValue::take(from)?,
            ..Wake::default()
        };
        if from.is_end()? {
            return Some(wake);
        }
        wake.throttled = WireValue::take(from)?;
        wake.cgroup = WireValue::take(from)?;
        wake.sleep = WireValue::take(from)?;
        wake.waker_comm = from.name(wake.waker.tid)?;
        let others = usize::from(u8::take(from)?);
        for other in wake.others.get_mut(..others)? {
            *other = WireValue::take(from)?;
        }
        if from.is_end()? {
            return Some(wake);
        }
        wake.missed = WireValue::take(from)?;
        if !from.is_end()? {
            wake.rest = WireValue::take(from)?;
        }
        Some(wake)
    }
}

impl WireValue for Holder {
    fn put<W: WireWriter>(&self, out: &mut W) {
        self.task.put(out);
        out.name(self.task.tid, &self.comm);
        self.held.put(out);
    }

    fn take<R: WireReader>(from: &mut R) -> Option<Holder> {
        let task: TaskId = WireValue::take(from)?;
        let comm = from.name(task.tid)?;
        Some(Holder { task, comm, held: WireValue::take(from)? })
    }
}

fields! {
    Quota { cgroup, task, is_v2, quota, period, periods, throttled_periods, throttled, name }
}

#[cfg(test)]
mod tests {
    use super::super::bytes::Bytes;
    use super::*;
    use arrayvec::ArrayString;
    use wirelap_events::{CgroupId, Comm, OTHERS, Pid, SleepCall, Tid};

    fn wake() -> Wake {
        let task = TaskId { pid: Pid(7), tid: Tid(8) };
        let other = Holder { task, comm: Comm::from_name("hog"), held: Nanos(5) };
        let mut others = [Holder::NOBODY; OTHERS];
        others[0] = other;
        Wake {
            throttled: Nanos(60_000_000),
            cgroup: CgroupId(4711),
            sleep: SleepCall::Lock,
            waker_comm: Comm::from_name("python3"),
            others,
            ..Wake::default()
        }
    }

    #[test]
    fn a_wake_of_the_first_recordings_is_read() {
        let mut bytes = Vec::new();
        wake().put(&mut bytes);
        assert_eq!(Wake::take(&mut Bytes(&bytes)), Some(wake()));
        // throttled 4 B, cgroup 2 B, sleep 1 B, name 8 B, one other of 7 B with its number.
        let old = &bytes[..bytes.len() - (4 + 2 + 1 + 8 + 8)];
        assert_eq!(Wake::take(&mut Bytes(old)), Some(Wake::default()));
        for cut in old.len() + 1..bytes.len() {
            assert_eq!(Wake::take(&mut Bytes(&bytes[..cut])), None, "{cut}");
        }
    }

    #[test]
    fn what_was_missed_is_written_only_where_it_was() {
        let [mut plain, mut missed] = [Vec::new(), Vec::new()];
        wake().put(&mut plain);
        let after = Wake { missed: true, ..wake() };
        after.put(&mut missed);
        assert_eq!(missed.len(), plain.len() + 1);
        assert_eq!(Wake::take(&mut Bytes(&missed)), Some(after));
    }

    #[test]
    fn a_quota_is_read_as_it_was_written() {
        let name = ArrayString::from("/docker/0123").unwrap();
        let quota = Quota { name, is_v2: true, periods: 300, ..Quota::default() };
        let mut bytes = Vec::new();
        quota.put(&mut bytes);
        assert_eq!(Quota::take(&mut Bytes(&bytes)), Some(quota));
        let last = bytes.len() - 1;
        assert_eq!(Quota::take(&mut Bytes(&bytes[..last])), None);
        bytes[last] = 0xFF;
        assert_eq!(Quota::take(&mut Bytes(&bytes)), None);
    }
}
