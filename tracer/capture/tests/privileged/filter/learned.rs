//! Ports that are learned from the sockets of wanted processes: only in their own network, and only as long as a socket is there.

use super::MESSAGES;
use crate::support::{
    Seen, V4, current_netns, enter_new_netns, everything, in_own_netns, ip, shared,
};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::thread;
use wirelap_capture::{Capture, CaptureConfig};
use wirelap_events::{PacketHook, Pid};

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
        let config = CaptureConfig { pids: vec![Pid(child.id())], ..everything() };
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

/// Events of others at a port that was a wanted process's are not reported.
#[test]
fn a_port_of_datagrams_is_learned_only_as_long_as_its_socket_is_there() {
    in_own_netns(|netns| {
        let here = UdpSocket::bind((V4, 0)).unwrap();
        let to = here.local_addr().unwrap();
        let (mut child, mut stdin) = datagrams_child(to.port(), false);
        let mut closed = BufReader::new(child.stderr.take().unwrap()).lines();
        let config = CaptureConfig { pids: vec![Pid(child.id())], ..everything() };
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
        let config = CaptureConfig { pids: vec![Pid(child.id())], ..everything() };
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
        let one = shared(0);
        let to = one.local_addr().unwrap();
        let (two, again) = (shared(to.port()), one.try_clone().unwrap());
        let aside = UdpSocket::bind((V4, 0)).unwrap();
        let (mut child, mut stdin) = datagrams_child(to.port(), true);
        // What it leaves behind is not of this process's tree.
        assert!(child.wait().unwrap().success());
        let mut closed = BufReader::new(child.stderr.take().unwrap()).lines();
        let config = CaptureConfig { pids: vec![Pid(std::process::id())], ..everything() };
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
