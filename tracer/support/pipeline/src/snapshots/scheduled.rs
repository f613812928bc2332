//! A message of which it is known on which CPU its threads ran.

use wirelap_events::{
    Comm, Cpu, Delivery, GroupId, Holder, Hop, Leg, MessageId, Nanos, OffCpuReason, Pid, Stage,
    TaskId, Tid,
};
use wirelap_test_support::delivered;

fn thread(pid: u32, tid: u32) -> TaskId {
    TaskId { pid: Pid(pid), tid: Tid(tid) }
}

fn hop(task: TaskId, cpu: u16, woken: u64, running: u64) -> Hop {
    let (woken, running, reason) = (Nanos(woken), Nanos(running), OffCpuReason::Asleep);
    Hop { task, woken, running, reason, cpu: Some(Cpu(cpu)), from_irq: true, ..Hop::default() }
}

/// A message of the third row of [`super::five`]. It was sent 2 s after the start. The broker's thread waited so many nanoseconds for CPU 1,
/// which another program had, then handed the message to a second thread; the subscriber was running already.
pub fn scheduled(waited: u64) -> Delivery {
    let at = |ns: u64| 102_000_000_000_u64.saturating_add(ns);
    let after = |ns: u64| at(ns.saturating_add(waited));
    let (publisher, reads, sends, subscriber) =
        (thread(4_020, 4_020), thread(4_021, 4_021), thread(4_021, 4_025), thread(4_022, 4_022));
    let hog = Holder {
        task: thread(991, 991),
        comm: Comm::from_name("stress-ng-cpu"),
        held: Nanos(waited / 10 * 9),
    };
    let first = Leg {
        flow: delivered::flow(50_000, 1883),
        sender: Some(publisher),
        reader: Some(reads),
        before: vec![hop(publisher, 0, at(0) - 9_000, at(0) - 4_000)],
        chain: vec![Hop { holder: hog, ..hop(reads, 1, at(12_000), after(12_000)) }],
        ..delivered::leg(&[
            (Stage::Send, at(0)),
            (Stage::Sent, at(3_000)),
            (Stage::Xmit, at(5_000)),
            (Stage::Rx, at(8_000)),
            (Stage::Ready, at(10_000)),
            (Stage::Wakeup, at(12_000)),
            (Stage::Running, after(12_000)),
            (Stage::Read, after(20_000)),
        ])
    };
    let second = Leg {
        flow: delivered::flow(1883, 50_001),
        sender: Some(sends),
        reader: Some(subscriber),
        before: vec![Hop {
            from_irq: false,
            migrated: true,
            ..hop(sends, 0, after(24_000), after(31_000))
        }],
        ..delivered::leg(&[
            (Stage::Send, after(36_000)),
            (Stage::Sent, after(38_000)),
            (Stage::Xmit, after(40_000)),
            (Stage::Rx, after(42_000)),
            (Stage::Ready, after(44_000)),
            (Stage::Read, after(60_000)),
        ])
    };
    let (message, group) = (MessageId(waited), GroupId(2));
    Delivery { message, group, ..delivered::delivery([first, second]) }
}
