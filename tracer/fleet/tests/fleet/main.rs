//! Agents and collectors of a fleet around a router, with a stand-in for `wirelap agent` that needs no rights.

mod bench;
mod secured;

use bench::{Bench, Router, poll};
use wirelap_hosts::stream::{FleetFrame, Frame};

#[test]
fn an_agent_runs_while_somebody_watches_and_a_second_collector_gets_the_same_one() {
    let bench = Bench::new();
    let router = Router::new();
    let agent = bench.agent(&router, "robot", &[]);
    agent.says("robot waits in fleet plant");
    assert_eq!(bench.started(), 0, "nobody watches");
    let first = bench.collect(&router, &[]);
    first.gets("the host", |frame| matches!(frame, FleetFrame::Joined(name) if name == "robot"));
    first.gets("the agent's introduction", is_hello);
    first.gets("what it has observed", |frame| is_records(frame, 3));
    let before = bench.told_again();
    let second = bench.collect(&router, &[]);
    second.gets("the agent's introduction", is_hello);
    second.gets("what is open", |frame| is_records(frame, 2));
    // Its first question was heard: it did not wait to ask once more.
    assert_eq!(bench.told_again(), before + 1);
    // Each gets the answer to its own question, under its own number.
    first.ask("robot ping 7");
    second.ask("robot ping 7");
    for collector in [&first, &second] {
        collector.gets("an answer", |frame| {
            let FleetFrame::Answered(answer) = frame else { return false };
            assert!(answer.sent < answer.there && answer.there < answer.back, "{answer:?}");
            answer.number == 7
        });
    }
    assert_eq!(bench.started(), 1);
    first.end();
    second.ask("robot ping 8");
    second.gets(
        "an answer",
        |frame| matches!(frame, FleetFrame::Answered(answer) if answer.number == 8),
    );
    second.kill();
    poll("the end of the agent", || (bench.ended() == 1).then_some(()));
    assert_eq!(bench.started(), 1);
}

#[test]
fn what_comes_and_goes_is_told() {
    let bench = Bench::new();
    let router = Router::new();
    let collector = bench.collect(&router, &[]);
    collector.gets(
        "that nobody is there",
        |frame| matches!(frame, FleetFrame::Trouble(what) if what.contains("no agent waits there")),
    );
    let agent = bench.agent(&router, "robot", &[]);
    collector.gets("a host that comes later", is_hello);
    collector.gets(
        "that all is well",
        |frame| matches!(frame, FleetFrame::Trouble(what) if what.is_empty()),
    );
    let namesake = bench.agent(&router, "robot", &[]);
    namesake.says("a host called robot is in the fleet already");
    drop(namesake);
    assert!(bench.is_there());
    agent.kill();
    collector.gets(
        "that it has gone",
        |frame| matches!(frame, FleetFrame::Left(why) if why.contains("has left the fleet")),
    );
    // By itself, or by the process that had started it: whichever is first.
    poll("the end of the agent", || (!bench.is_there()).then_some(()));
    let again = bench.agent(&router, "robot", &[]);
    collector.gets("the host again", is_hello);
    router.stop();
    assert_eq!(collector.status(), Some(255));
    assert!(collector.said().contains("has gone"), "{}", collector.said());
    again.says("has gone; trying again");
    let collector = bench.collect(&router, &[]);
    assert_eq!(collector.status(), Some(255));
    assert!(collector.said().contains("nobody listens on tcp/"), "{}", collector.said());
    let router = Router::at(router.port);
    again.says("robot waits");
    bench.collect(&router, &[]).gets("the host again", is_hello);
}

#[test]
fn an_agent_that_cannot_run_says_why() {
    let bench = Bench::new();
    let router = Router::new();
    bench.breaks_with("attaching probes needs CAP_BPF");
    let _agent = bench.agent(&router, "robot", &[]);
    bench.collect(&router, &[]).gets("the reason", |frame| {
        matches!(frame, FleetFrame::Agent(Frame::End(why)) if why.contains("needs CAP_BPF"))
    });
}

fn is_hello(frame: &FleetFrame) -> bool {
    matches!(frame, FleetFrame::Agent(Frame::Hello(hello)) if hello.host == "robot")
}

fn is_records(frame: &FleetFrame, count: usize) -> bool {
    let FleetFrame::Agent(Frame::Records(block)) = frame else { return false };
    let mut events = 0;
    block.survey(|_| events += 1);
    events == count
}
