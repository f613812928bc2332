//! Tests of the lanes.

use super::*;
use wirelap_events::{Comm, Pid, Tid};
use wirelap_test_support::delivered;

fn task(id: u32) -> TaskId {
    TaskId { pid: Pid(id), tid: Tid(id) }
}

fn message() -> Delivery {
    let holder = Holder { task: task(9), comm: Comm::from_name("hog"), held: Nanos(25) };
    let hop = Hop {
        task: task(2),
        woken: Nanos(20),
        running: Nanos(50),
        cpu: Some(Cpu(1)),
        holder,
        ..Hop::default()
    };
    let stages = [(Stage::Send, 0), (Stage::Sent, 5), (Stage::Ready, 20), (Stage::Running, 50)];
    let first = Leg {
        sender: Some(task(1)),
        reader: Some(task(2)),
        chain: vec![hop],
        ..delivered::leg(&[&stages[..], &[(Stage::Read, 60)]].concat())
    };
    let second = Leg {
        sender: Some(task(2)),
        reader: Some(task(3)),
        ..delivered::leg(&[(Stage::Send, 70), (Stage::Ready, 80), (Stage::Read, 100)])
    };
    delivered::delivery([first, second])
}

#[test]
fn a_forwarder_runs_on_its_cpu_from_the_read_to_the_send() {
    let lanes = Lanes::of(&message());
    assert_eq!((lanes.from, lanes.to), (Nanos(0), Nanos(100)));
    let interval =
        |from, to, thread, doing| LaneInterval { from: Nanos(from), to: Nanos(to), thread, doing };
    let known = &lanes.intervals[&LaneKey::Cpu(1, Cpu(1))];
    let expected = [
        interval(20, 50, 1, Doing::Waits(Some(0))),
        interval(50, 60, 1, Doing::Runs),
        interval(60, 70, 1, Doing::Runs),
    ];
    assert_eq!(known[..], expected);
    let unknown = |thread| &lanes.intervals[&LaneKey::Thread(thread)][..];
    assert_eq!(unknown(0), [interval(0, 5, 0, Doing::Runs)]);
    assert_eq!(unknown(2), [interval(80, 100, 2, Doing::Runs)]);
    assert_eq!(lanes.threads[1].roles, ["reads leg 1", "sends on leg 2"]);
    assert_eq!((lanes.threads[1].waited, lanes.holders[0].waiter), (Nanos(30), 1));
}

#[test]
fn a_thread_that_was_preempted_runs_partly_and_a_wakeup_is_drawn_once() {
    let mut message = message();
    let waited = OffCpu { waited: Nanos(5), preemptions: 1, ..OffCpu::NONE };
    let off = LegOffCpu { reader: Some(waited), ..LegOffCpu::NONE };
    message.off_cpu = [off].into_iter().collect();
    let hop = message.legs[0].chain[0];
    message.legs[1].before = vec![hop];
    let lanes = Lanes::of(&message);
    let doing: Vec<Doing> =
        lanes.intervals[&LaneKey::Cpu(1, Cpu(1))].iter().map(|one| one.doing).collect();
    assert_eq!(doing, [Doing::Waits(Some(0)), Doing::RunsPartly, Doing::Runs]);
    assert_eq!((lanes.threads[1].waited, lanes.holders.len()), (Nanos(30), 1));
    assert_eq!(lanes.threads[1].off.waited, Nanos(5));
}

#[test]
fn a_wait_of_which_most_is_not_explained_names_nobody() {
    let mut message = message();
    message.legs[0].chain[0].holder.held = Nanos(10);
    let lanes = Lanes::of(&message);
    assert_eq!(lanes.intervals[&LaneKey::Cpu(1, Cpu(1))][0].doing, Doing::Waits(None));
    assert_eq!(lanes.holders.len(), 1, "it is named in the legend");
}
