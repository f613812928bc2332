//! Filters: by port, by process tree, by cgroup; and changes of them.

use crate::support::{
    Seen, V4, connect, current_netns, enter_new_netns, everything, in_own_netns, ip, pattern, port,
};
use rustix::net::sockopt::set_socket_reuseport;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use wirelap_capture::{Capture, CaptureError, Config};
use wirelap_events::{Body, PacketHook, Pid, Probe};

const MESSAGES: usize = 23;

fn talk(near: &mut TcpStream, far: &mut TcpStream) {
    for _ in 0..MESSAGES {
        near.write_all(&[1; 32]).unwrap();
        far.read_exact(&mut [0; 32]).unwrap();
    }
}

fn lost_and_filtered(capture: &Capture, probe: Probe) -> (u64, u64) {
    let counters = capture.counters();
    let found = counters.iter().find(|counters| counters.probe == probe).unwrap();
    (found.lost, found.filtered)
}

#[test]
fn only_the_wanted_port_is_traced() {
    in_own_netns(|netns| {
        let listener = TcpListener::bind((V4, 0)).unwrap();
        let wanted = listener.local_addr().unwrap();
        let config = Config { ports: vec![wanted.port()], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        let (mut other_near, mut other_far) = connect(V4);
        talk(&mut other_near, &mut other_far);
        let mut near = TcpStream::connect(wanted).unwrap();
        let mut far = listener.accept().unwrap().0;
        talk(&mut near, &mut far);
        let near_port = port(&near);
        drop((near, far, other_near, other_far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        assert_eq!(seen.sockets.len(), 2);
        assert_eq!(seen.sends(seen.socket_at(near_port).id).len(), MESSAGES);
        assert_eq!(seen.reads(seen.socket_at(wanted.port()).id).len(), MESSAGES);
        for hook in [PacketHook::Xmit, PacketHook::Rx] {
            for (packet, _) in seen.packets(hook) {
                let ports = [packet.flow.src.port(), packet.flow.dst.port()];
                assert!(ports.contains(&wanted.port()), "{packet:?}");
            }
        }
        for probe in [Probe::Send, Probe::Read, Probe::Xmit, Probe::Rx] {
            let (lost, filtered) = lost_and_filtered(&capture, probe);
            assert_eq!(lost, 0);
            assert!(filtered >= MESSAGES as u64, "{probe:?}: {filtered}");
        }
    });
}

/// A socket without a peer of its own has one in each call.
#[test]
fn what_is_sent_to_the_wanted_port_is_traced_from_unconnected_sockets_too() {
    in_own_netns(|netns| {
        let [wanted, other] = [(); 2].map(|()| UdpSocket::bind((V4, 0)).unwrap());
        let to = wanted.local_addr().unwrap().port();
        let config = Config { ports: vec![to], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        let [near, stranger] = [(); 2].map(|()| UdpSocket::bind((V4, 0)).unwrap());
        let bytes = pattern(300);
        for _ in 0..MESSAGES {
            stranger.send_to(&bytes, other.local_addr().unwrap()).unwrap();
            near.send_to(&bytes, (V4, to)).unwrap();
            assert_eq!(wanted.recv(&mut [0; 400]).unwrap(), 300);
        }
        let ports = [&near, &stranger].map(|socket| socket.local_addr().unwrap().port());
        drop((near, stranger, wanted));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
        assert_eq!(seen.sends(seen.socket_at(ports[0]).id).len(), MESSAGES);
        let sent: Vec<_> = seen.packets(PacketHook::Xmit).collect();
        assert_eq!(sent.len(), MESSAGES);
        assert!(
            sent.iter().all(|(packet, payload)| packet.flow.dst.port() == to && *payload == bytes)
        );
        assert!(seen.sockets.values().all(|socket| socket.local.port() != ports[1]));
    });
}

/// Connections that are opened while the probes are being attached are judged before the filter is
/// complete, by the very thread that uses them later.
#[test]
fn connections_opened_while_attaching_are_traced() {
    in_own_netns(|netns| {
        let listener = TcpListener::bind((V4, 0)).unwrap();
        let wanted = listener.local_addr().unwrap();
        let (stop, stopped) = mpsc::channel::<()>();
        let (attached, go) = mpsc::channel::<()>();
        let client = thread::spawn(move || {
            let mut open = Vec::new();
            while stopped.try_recv().is_err() {
                let near = TcpStream::connect(wanted).unwrap();
                open.push((near, listener.accept().unwrap().0));
                // However long it takes, some of each part of that time are kept.
                if open.len() == 300 {
                    let mut number = 0;
                    open.retain(|_| {
                        number += 1;
                        number % 2 == 0
                    });
                }
            }
            go.recv().unwrap();
            for (near, _) in &mut open {
                near.write_all(b"x").unwrap();
            }
            open
        });
        let config = Config { ports: vec![wanted.port()], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        stop.send(()).unwrap();
        attached.send(()).unwrap();
        let open = client.join().unwrap();
        let ports: Vec<u16> = open.iter().map(|(near, _)| port(near)).collect();
        drop(open);
        let mut seen = Seen::new(netns);
        // A port may have been that of a connection before, which is closed again.
        let has_sent = |seen: &Seen, port| {
            let mut at_port = seen.sockets.values().filter(|s| s.local.port() == port);
            at_port.any(|socket| seen.sends(socket.id).len() == 1)
        };
        seen.collect(&mut capture, "a send on each socket", |seen| {
            ports.iter().all(|&port| has_sent(seen, port))
        });
    });
}

#[test]
fn a_port_that_is_added_later_is_traced_from_then_on() {
    in_own_netns(|netns| {
        let (mut near, mut far) = connect(V4);
        let config = Config { ports: vec![1], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        talk(&mut near, &mut far);
        capture.add_port(port(&far)).unwrap();
        talk(&mut near, &mut far);
        let near_port = port(&near);
        drop((near, far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
        let socket = seen.socket_at(near_port);
        let sends = seen.sends(socket.id);
        assert_eq!(sends.len(), MESSAGES);
        assert_eq!(Some(crate::support::sent(&sends[0]).0), socket.tx_next);
    });
}

/// Such as that of a broker which ran already: it is in nobody's process tree.
#[test]
fn a_port_is_added_to_a_filter_by_process_too() {
    in_own_netns(|netns| {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let config = Config { pids: vec![Pid(child.id())], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(V4);
        talk(&mut near, &mut far);
        capture.add_port(port(&far)).unwrap();
        talk(&mut near, &mut far);
        let (near_port, far_port) = (port(&near), port(&far));
        drop((near, far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
        assert_eq!(seen.sends(seen.socket_at(near_port).id).len(), MESSAGES);
        assert_eq!(seen.reads(seen.socket_at(far_port).id).len(), MESSAGES);
        drop(child.stdin.take());
        child.wait().unwrap();
    });
}

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
fn only_one_child(choose: impl FnOnce(&Child) -> Config + Send + 'static) {
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
    only_one_child(|child| Config { pids: vec![Pid(child.id())], ..everything() });
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
        let config = Config { pids: vec![Pid(child.id())], ..everything() };
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

/// Gives this thread's namespace an address that others could reach, if there was a way to it.
fn take_address(address: Ipv4Addr) {
    ip("link set lo up");
    if !address.is_loopback() {
        ip("link add near type veth peer name far");
        ip(&format!("addr add {address}/24 dev near"));
        ip("link set near up");
        ip("link set far up");
    }
}

/// In another network namespace the same port and address are somebody else's.
fn a_neighbour_at(address: Ipv4Addr) {
    in_own_netns(move |netns| {
        take_address(address);
        let here = UdpSocket::bind((address, 0)).unwrap();
        let to = here.local_addr().unwrap().port();
        let script = format!("read go; exec 3<>/dev/udp/{address}/{to}; echo hello >&3; read end");
        let mut shell = Command::new("bash");
        let mut child = shell.args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let config = Config { pids: vec![Pid(child.id())], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        stdin.write_all(b"go\n").unwrap();
        let from = here.recv_from(&mut [0; 32]).unwrap().1;
        let neighbour = thread::spawn(move || {
            enter_new_netns();
            take_address(address);
            let same = UdpSocket::bind(from).unwrap();
            (0..MESSAGES).for_each(|_| assert_eq!(same.send_to(b"other", from).unwrap(), 5));
            current_netns()
        });
        let mut other = Seen::new(neighbour.join().unwrap());
        here.send_to(b"answer", from).unwrap();
        let mut seen = Seen::new(netns);
        seen.collect_both(&mut other, &mut capture, |seen, _| {
            seen.packets(PacketHook::Rx).any(|(packet, _)| packet.flow.dst.port() == from.port())
        });
        assert_eq!(other.packets(PacketHook::Xmit).count(), 0);
        assert_eq!(other.packets(PacketHook::Rx).count(), 0);
        stdin.write_all(b"end\n").unwrap();
        assert!(child.wait().unwrap().success());
    });
}

#[test]
fn a_neighbour_with_the_same_ports_is_not_traced() {
    a_neighbour_at(Ipv4Addr::LOCALHOST);
}

#[test]
fn a_neighbour_with_the_same_address_in_a_network_of_its_own_is_not_traced() {
    a_neighbour_at(Ipv4Addr::new(10, 9, 0, 1));
}

/// A shell that sends a datagram to a port at each line, from a socket of its own that it closes at the next.
fn datagrams_child(to: u16, is_orphan: bool) -> (Child, std::process::ChildStdin) {
    let mut script = format!(
        "while read go; do exec 3<>/dev/udp/127.0.0.1/{to}; echo hello >&3; read end; exec 3>&-; echo closed >&2; done"
    );
    if is_orphan {
        script = format!("({script}) <&0 &");
    }
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

/// What others do at a port that was a wanted process's.
#[test]
fn a_port_of_datagrams_is_learned_only_as_long_as_its_socket_is_there() {
    in_own_netns(|netns| {
        let here = UdpSocket::bind((V4, 0)).unwrap();
        let to = here.local_addr().unwrap();
        let (mut child, mut stdin) = datagrams_child(to.port(), false);
        let mut closed = BufReader::new(child.stderr.take().unwrap()).lines();
        let config = Config { pids: vec![Pid(child.id())], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut buffer = [0; 32];
        stdin.write_all(b"go\n").unwrap();
        let from = here.recv_from(&mut buffer).unwrap().1;
        here.send_to(b"answer", from).unwrap();
        stdin.write_all(b"end\n").unwrap();
        closed.next().unwrap().unwrap();

        let other = UdpSocket::bind(from).unwrap();
        for _ in 0..MESSAGES {
            other.send_to(b"not yours", to).unwrap();
            here.recv_from(&mut buffer).unwrap();
            here.send_to(b"nor this", from).unwrap();
            other.recv_from(&mut buffer).unwrap();
        }
        drop(other);

        stdin.write_all(b"go\nend\n").unwrap();
        here.recv_from(&mut buffer).unwrap();
        let mut seen = Seen::new(netns);
        seen.collect(&mut capture, "the second socket's end", |seen| seen.closed() == 2);
        let bytes: Vec<_> =
            seen.packets(PacketHook::Xmit).map(|(_, payload)| payload.to_vec()).collect();
        assert_eq!(bytes, [&b"hello\n"[..], b"answer", b"hello\n"]);
        assert_eq!(seen.packets(PacketHook::Rx).count(), 3);
        drop(stdin);
        assert!(child.wait().unwrap().success());
    });
}

/// Connections of a wanted process end with packets that come when their sockets are gone. They have no payload.
#[test]
fn a_port_of_a_connection_is_learned_only_as_long_as_its_socket_is_there() {
    in_own_netns(|netns| {
        let listener = TcpListener::bind((V4, 0)).unwrap();
        let to = listener.local_addr().unwrap();
        let script = format!(
            "while read go; do cat <>/dev/tcp/127.0.0.1/{} >/dev/null; echo closed >&2; done",
            to.port()
        );
        let mut shell = Command::new("bash");
        shell.args(["-c", &script]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut closed = BufReader::new(child.stderr.take().unwrap()).lines();
        let config = Config { pids: vec![Pid(child.id())], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut connection = |bytes: &[u8]| {
            stdin.write_all(b"go\n").unwrap();
            let (mut near, from) = listener.accept().unwrap();
            near.write_all(bytes).unwrap();
            drop(near);
            closed.next().unwrap().unwrap();
            from
        };
        let from = connection(b"hello");

        let others = TcpListener::bind(from).unwrap();
        let mut other = TcpStream::connect(from).unwrap();
        let mut far = others.accept().unwrap().0;
        for _ in 0..MESSAGES {
            other.write_all(b"not yours").unwrap();
            far.write_all(b"nor this").unwrap();
        }
        drop((other, far, others));

        connection(b"again");
        let mut seen = Seen::new(netns);
        seen.collect(&mut capture, "the second socket's end", |seen| seen.closed() == 2);
        let with_bytes =
            seen.packets(PacketHook::Xmit).filter(|(packet, _)| packet.payload_len > 0);
        let bytes: Vec<_> = with_bytes.map(|(_, payload)| payload.to_vec()).collect();
        assert_eq!(bytes, [b"hello", b"again"]);
        drop(stdin);
        assert!(child.wait().unwrap().success());
    });
}

/// Two descriptors are of one socket, and two sockets may be at one port: it is learned until all are closed.
#[test]
fn a_port_is_learned_until_the_last_socket_at_it_is_closed() {
    in_own_netns(|netns| {
        let reuse = |to: u16| {
            let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
            let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None).unwrap();
            set_socket_reuseport(&socket, true).unwrap();
            bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, to)).unwrap();
            UdpSocket::from(socket)
        };
        let one = reuse(0);
        let to = one.local_addr().unwrap();
        let (two, again) = (reuse(to.port()), one.try_clone().unwrap());
        let aside = UdpSocket::bind((V4, 0)).unwrap();
        let (mut child, mut stdin) = datagrams_child(to.port(), true);
        // What it leaves behind is not of this process's tree.
        assert!(child.wait().unwrap().success());
        let mut closed = BufReader::new(child.stderr.take().unwrap()).lines();
        let config = Config { pids: vec![Pid(std::process::id())], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut ask = || {
            stdin.write_all(b"go\nend\n").unwrap();
            closed.next().unwrap().unwrap();
        };
        ask();
        drop(one);
        ask();
        drop(again);
        ask();
        drop(two);
        // Nobody is there: an error comes back.
        ask();
        aside.send_to(b"end", aside.local_addr().unwrap()).unwrap();
        drop(aside);
        let mut seen = Seen::new(netns);
        seen.collect(&mut capture, "the end of all sockets", |seen| seen.closed() >= 3);
        let bytes: Vec<_> =
            seen.packets(PacketHook::Xmit).map(|(_, payload)| payload.to_vec()).collect();
        assert_eq!(bytes, [&b"hello\n"[..], b"hello\n", b"hello\n", b"end"]);
        drop(stdin);
        assert!(closed.next().is_none());
    });
}

/// A cgroup that is removed again.
struct Cgroup(PathBuf);

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Processes in it have ended; a failure would only leave an empty directory.
        let _ = fs::remove_dir(&self.0);
    }
}

fn new_cgroup(name: &str) -> Cgroup {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let root = mounts.lines().find_map(|line| {
        let words: Vec<_> = line.split(' ').collect();
        (words[2] == "cgroup2").then(|| PathBuf::from(words[1]))
    });
    let path = root.expect("a cgroup v2 mount").join(format!("{name}-{}", std::process::id()));
    fs::create_dir(&path).unwrap();
    Cgroup(path)
}

#[test]
fn only_the_wanted_cgroup_is_traced() {
    let cgroup = new_cgroup("wirelap-test");
    let path = cgroup.0.clone();
    only_one_child(move |child| {
        fs::write(path.join("cgroup.procs"), child.id().to_string()).unwrap();
        Config { cgroup: Some(path), ..everything() }
    });
}

#[test]
fn a_process_that_is_added_later_is_traced_from_then_on() {
    in_own_netns(|netns| {
        let listener = TcpListener::bind((V4, 0)).unwrap();
        let child = sending_child(listener.local_addr().unwrap().port());
        let config = Config { ports: vec![1], ..everything() };
        let mut capture = Capture::attach(&Config { pids: vec![Pid(1)], ..config }).unwrap();
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
        let mut capture = Capture::attach(&Config::default()).unwrap();
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
