//! By process tree and by cgroup, from the start and later.

use crate::support::{Seen, V4, everything, in_own_netns, new_cgroup, pattern};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use wirelap_capture::{Capture, CaptureConfig, CaptureError};
use wirelap_events::{Body, PacketHook, Pid};

/// A shell that waits for a line, then has a child of its own send to a port, and ends.
fn sending_child(to: u16) -> Child {
    let script =
        format!("echo ready; read go; bash -c 'echo hello >/dev/tcp/127.0.0.1/{to}'; true");
    let mut child = Command::new("bash")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

fn go(mut child: Child, listener: &TcpListener) -> u16 {
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let (mut far, from) = listener.accept().unwrap();
    let mut text = String::new();
    far.read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello\n");
    assert!(child.wait().unwrap().success());
    from.port()
}

/// Two children send; only the one that `choose` picks is seen.
fn only_one_child(choose: impl FnOnce(&Child) -> CaptureConfig + Send + 'static) {
    in_own_netns(move |netns| {
        let listener = TcpListener::bind((V4, 0)).unwrap();
        let to = listener.local_addr().unwrap().port();
        let (wanted, other) = (sending_child(to), sending_child(to));
        let root = wanted.id();
        let config = choose(&wanted);
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        go(other, &listener);
        let from = go(wanted, &listener);
        seen.collect(&mut capture, "the end of the child's socket", |seen| seen.closed() == 1);

        assert_eq!(seen.sockets.len(), 1, "{:?}", seen.sockets);
        let socket = seen.socket_at(from);
        assert_ne!(socket.task.pid.0, root, "the grandchild sends");
        assert_eq!(socket.comm.as_str(), "bash");
        assert_eq!(seen.sends(socket.id).len(), 1);
        let out = |(packet, _): &(wirelap_events::Packet<'_>, &[u8])| packet.payload_len > 0;
        assert_eq!(seen.packets(PacketHook::Xmit).filter(out).count(), 1);
        assert_eq!(seen.packets(PacketHook::Rx).filter(out).count(), 1);
    });
}

#[test]
fn only_the_wanted_process_tree_is_traced() {
    only_one_child(|child| CaptureConfig { pids: vec![Pid(child.id())], ..everything() });
}

/// The sender is not traced, and the bytes are nowhere else.
#[test]
fn what_a_wanted_process_is_sent_on_this_host_has_its_bytes() {
    in_own_netns(|netns| {
        let listener = TcpListener::bind((V4, 0)).unwrap();
        let from = listener.local_addr().unwrap().port();
        let script = format!("read go; cat <>/dev/tcp/127.0.0.1/{from} >/dev/null");
        let mut shell = Command::new("bash");
        let mut child = shell.args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap();
        let config = CaptureConfig { pids: vec![Pid(child.id())], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let bytes = pattern(5_000);
        let mut near = listener.accept().unwrap().0;
        near.write_all(&bytes).unwrap();
        drop(near);
        assert!(child.wait().unwrap().success());
        seen.collect(&mut capture, "the end of the child's socket", |seen| seen.closed() == 1);
        assert_eq!(seen.sockets.len(), 1, "{:?}", seen.sockets);
        let mut data = seen.packets(PacketHook::Xmit).filter(|(packet, _)| packet.payload_len > 0);
        let start = data.next().unwrap().0.tcp.unwrap().seq;
        assert_eq!(seen.stream_from(from, start), bytes);
    });
}

#[test]
fn only_the_wanted_cgroup_is_traced() {
    let cgroup = new_cgroup("wirelap-test");
    let path = cgroup.0.clone();
    only_one_child(move |child| {
        fs::write(path.join("cgroup.procs"), child.id().to_string()).unwrap();
        CaptureConfig { cgroup: Some(path), ..everything() }
    });
}

#[test]
fn a_process_that_is_added_later_is_traced_from_then_on() {
    in_own_netns(|netns| {
        let listener = TcpListener::bind((V4, 0)).unwrap();
        let child = sending_child(listener.local_addr().unwrap().port());
        let config = CaptureConfig { ports: vec![1], ..everything() };
        let mut capture = Capture::attach(&CaptureConfig { pids: vec![Pid(1)], ..config }).unwrap();
        let mut seen = Seen::new(netns);
        // This process's tree is not init's only when it is not its child; so ask for the child.
        capture.add_pid(Pid(child.id())).unwrap();
        let from = go(child, &listener);
        seen.collect(&mut capture, "the child's socket", |seen| seen.closed() >= 1);
        assert_eq!(seen.sends(seen.socket_at(from).id).len(), 1);
    });
}

#[test]
fn a_process_that_is_not_there_cannot_be_added() {
    let mut capture = Capture::attach(&everything()).unwrap();
    let error = capture.add_pid(Pid(u32::MAX / 2)).unwrap_err();
    assert!(matches!(error, CaptureError::NoProcess(_)), "{error}");
}

#[test]
fn this_process_is_left_out_unless_asked_for() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&CaptureConfig::default()).unwrap();
        let mut seen = Seen::new(netns);
        let listener = TcpListener::bind((V4, 0)).unwrap();
        let child = sending_child(listener.local_addr().unwrap().port());
        let from = go(child, &listener);
        seen.collect(&mut capture, "the child's socket", |seen| seen.closed() == 1);
        assert_eq!(seen.sends(seen.socket_at(from).id).len(), 1);
        let own = |body: &Body<'_>| match body {
            Body::Socket(socket) => socket.task.pid.0 == std::process::id(),
            Body::Read(read) => read.task.pid.0 == std::process::id(),
            _ => false,
        };
        assert!(!seen.events.iter().any(|(event, _)| own(&event.body)));
    });
}
