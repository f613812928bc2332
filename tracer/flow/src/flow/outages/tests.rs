//! Tests of `outages`.

use super::*;
use wirelap_events::{TaskId, Tid};

const SERVER: u16 = 1883;

fn server(port: u16) -> ServerAt {
    (SocketAddr::from(([127, 0, 0, 1], port)), NetNs(1))
}

fn closed(serial: u64, pid: u32, client: u32) -> ClosedByServer {
    let (pid, client) = (Some(Pid(pid)), ClientOf::Process(Pid(client)));
    ClosedByServer { serial, server: server(SERVER), pid, client, row: None }
}

/// A server of process 10 has closed the connections of clients 30 at 1,000 s and 31 at 1,010 s.
fn two_closed() -> Outages {
    let mut outages = Outages::default();
    outages.close(s(1_000), closed(1, 10, 30));
    outages.close(s(1_010), closed(2, 10, 31));
    outages
}

fn s(seconds: u64) -> Nanos {
    Nanos::from_millis(seconds * 1_000)
}

fn returned(outages: &Outages, at: u64, client: u32) -> bool {
    outages.has_returned(s(at), server(SERVER), ClientOf::Process(Pid(client)))
}

#[test]
fn a_server_that_refuses_is_gone_with_the_connections_that_ended_then() {
    let mut outages = two_closed();
    outages.refuse(server(80));
    assert!(outages.is_empty(), "another server");
    outages.refuse(server(SERVER));
    assert!(!outages.has_ended(1), "it was closed ten seconds before");
    assert!(outages.has_ended(2));
    outages.accept(s(1_050), server(SERVER), None, |_| false);
    assert!(returned(&outages, 1_050, 31) && returned(&outages, 1_090, 31));
    assert!(!returned(&outages, 1_091, 31), "longer than it was gone");
    assert!(!returned(&outages, 1_050, 30) && !returned(&outages, 1_005, 31));
}

#[test]
fn a_process_takes_its_connections_along_when_it_ends() {
    let mut outages = two_closed();
    let task = TaskId { pid: Pid(10), tid: Tid(12) };
    let end = ProcessEnd { task, status: 9, out_of_memory: true };
    outages.end(s(1_010), end);
    // Another of its threads, seen at the same time.
    outages.end(s(1_010), end);
    outages.close(s(1_010), closed(3, 10, 32));
    outages.close(s(1_010), closed(4, 11, 33));
    (0..3).for_each(|_| outages.refuse(server(SERVER)));
    let [gone] = outages.gone().collect::<Vec<_>>()[..] else { panic!() };
    assert_eq!((gone.at, gone.pid, gone.end), (s(1_010), Some(Pid(10)), Some(end)));
    assert_eq!((gone.connections, gone.refused, gone.again), (2, 3, None));
    let clients = [31, 32].map(|pid| ClientOf::Process(Pid(pid)));
    assert_eq!(gone.clients[..], clients);
    outages.accept(s(1_050), server(SERVER), Some(Pid(13)), |_| true);
    outages.refuse(server(SERVER));
    let gone = outages.gone().next().unwrap();
    assert_eq!((gone.refused, gone.again), (3, Some((s(1_050), Pid(13)))));
}

#[test]
fn a_server_of_whose_process_nothing_is_seen_is_gone_once_it_refuses() {
    let mut outages = two_closed();
    assert_eq!(outages.gone().count(), 0);
    outages.refuse(server(SERVER));
    let gone = outages.gone().next().unwrap();
    assert_eq!((gone.at, gone.end, gone.connections), (s(1_010), None, 1));
    assert_eq!(gone.refused, 1);
}

#[test]
fn another_process_serves_once_the_first_has_ended() {
    for (pid, has_ended, is_gone) in [
        (Some(11), true, true),
        (Some(11), false, false),
        (Some(10), true, false),
        (None, true, false),
    ] {
        let mut outages = two_closed();
        outages.accept(s(1_011), server(SERVER), pid.map(Pid), |_| has_ended);
        assert_eq!(outages.has_ended(2), is_gone, "{pid:?}");
        assert_eq!(returned(&outages, 1_012, 31), is_gone, "{pid:?}");
    }
}

#[test]
fn of_several_processes_one_may_end_and_be_replaced() {
    for (others_end, is_gone) in [(false, false), (true, true)] {
        let mut outages = Outages::default();
        let has_ended = |pid: Pid| pid == Pid(10) || others_end && pid == Pid(11);
        outages.accept(s(1), server(SERVER), Some(Pid(10)), has_ended);
        outages.accept(s(2), server(SERVER), Some(Pid(11)), has_ended);
        outages.close(s(3), closed(1, 10, 30));
        outages.accept(s(4), server(SERVER), Some(Pid(12)), has_ended);
        assert_eq!(outages.has_ended(1), is_gone);
    }
    // One that had served before the other ended.
    let mut outages = Outages::default();
    outages.accept(s(2), server(SERVER), Some(Pid(11)), |_| false);
    outages.close(s(3), closed(1, 10, 30));
    outages.accept(s(4), server(SERVER), Some(Pid(11)), |pid| pid == Pid(10));
    assert!(outages.is_empty());
}

#[test]
fn who_is_refused_a_server_that_closed_nothing_says_nothing() {
    let mut outages = Outages::default();
    outages.refuse(server(SERVER));
    outages.accept(s(1), server(SERVER), Some(Pid(10)), |_| true);
    assert!(outages.is_empty());
}

#[test]
fn what_was_closed_before_a_sign_of_life_was_closed_for_itself() {
    let mut outages = two_closed();
    outages.accept(s(1_020), server(SERVER), Some(Pid(10)), |_| false);
    outages.refuse(server(SERVER));
    assert!(outages.is_empty());
}

#[test]
fn memory_is_bounded() {
    let mut outages = Outages::default();
    for n in 0..10_000 {
        outages.close(s(n), closed(n, 10, 30));
        if n % 3 == 0 {
            outages.refuse(server(SERVER));
            outages.accept(s(n), server(SERVER), Some(Pid(10)), |_| false);
        }
    }
    let most = outages.all.len().max(outages.closed.len()).max(outages.lost.len());
    let most = most.max(outages.serving.len());
    assert!(most <= LIMIT, "{most}");
}

#[test]
fn who_goes_to_another_server_of_a_cluster_comes_from_the_one_that_is_gone() {
    let mut outages = two_closed();
    let task = TaskId { pid: Pid(10), tid: Tid(12) };
    outages.end(s(1_010), ProcessEnd { task, status: 9, out_of_memory: false });
    let moved = |outages: &Outages, at, port, client| {
        outages.has_moved(s(at), server(port), ClientOf::Process(Pid(client)))
    };
    assert!(moved(&outages, 1_015, 1884, 31) && moved(&outages, 1_020, 1884, 31));
    assert!(!moved(&outages, 1_021, 1884, 31), "long after that");
    assert!(!moved(&outages, 1_009, 1884, 31), "before that");
    assert!(!moved(&outages, 1_015, 1884, 30), "its connection had been closed before");
    assert!(!moved(&outages, 1_015, SERVER, 31), "the same server");
    outages.accept(s(1_013), server(SERVER), Some(Pid(13)), |_| true);
    assert!(!moved(&outages, 1_015, 1884, 31) && moved(&outages, 1_012, 1884, 31));
}
