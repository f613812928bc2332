//! Packets thrown away, and why: as many as the kernel's own counters say.

use crate::crowd::{CROWD, CROWDED};
use crate::raw::{self, real_time};
use crate::support::{Seen, V4, connect, everything, in_own_netns, ip, pin, port, sent, warm_up};
use std::io::Write;
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use wirelap_capture::Capture;
use wirelap_events::{DropCause, DroppedPacket, Nanos, PacketHook};

/// `SO_MEMINFO` (`include/uapi/linux/sock_diag.h`): the ninth number counts packets thrown away.
fn dropped_by(socket: &UdpSocket) -> usize {
    let info = raw::socket_option(socket, libc::SOL_SOCKET, libc::SO_MEMINFO);
    usize::try_from(u32::from_ne_bytes(info[32..36].try_into().unwrap())).unwrap()
}

#[test]
fn a_full_receive_buffer_drops_as_many_as_the_socket_counts() {
    a_full_receive_buffer(500);
}

/// Their payload lies in pages of its own, and their headers have been taken off when they are dropped.
#[test]
fn large_datagrams_are_dropped_likewise() {
    a_full_receive_buffer(32_768);
}

fn a_full_receive_buffer(len: usize) {
    const SENT: usize = 300;
    in_own_netns(move |netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let reader = UdpSocket::bind((V4, 0)).unwrap();
        let sender = UdpSocket::bind((V4, 0)).unwrap();
        rustix::net::sockopt::set_socket_recv_buffer_size(&reader, 8_192).unwrap();
        let to = reader.local_addr().unwrap();
        for _ in 0..SENT {
            sender.send_to(&vec![7; len], to).unwrap();
        }
        let dropped = dropped_by(&reader);
        reader.set_nonblocking(true).unwrap();
        let read = std::iter::from_fn(|| reader.recv(&mut [0; 1]).ok()).count();
        drop((reader, sender));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        assert!(dropped > 0 && read > 0);
        assert_eq!(read + dropped, SENT);
        let drops = seen.drops(to.port());
        assert_eq!(drops.len(), dropped);
        for drop in drops {
            assert_eq!((drop.cause, drop.len as usize), (DropCause::SocketBuffer, len), "{drop:?}");
        }
    });
}

#[test]
fn a_datagram_to_nobody_has_no_socket() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let nobody = UdpSocket::bind((V4, 0)).unwrap().local_addr().unwrap();
        let sender = UdpSocket::bind((V4, 0)).unwrap();
        for _ in 0..7 {
            sender.send_to(&[7; 30], nobody).unwrap();
        }
        drop(sender);
        seen.collect(&mut capture, "the drops", |seen| seen.drops(nobody.port()).len() >= 7);
        let causes: Vec<_> =
            seen.drops(nobody.port()).iter().map(|drop| (drop.cause, drop.len)).collect();
        assert_eq!(causes, [(DropCause::NoSocket, 30); 7]);
    });
}

/// As of a switch that sends everything to everybody: this host throws its copy away, and nothing is lost.
#[test]
fn a_copy_that_is_for_another_host_is_no_drop() {
    in_own_netns(|netns| {
        ip("link add near type veth peer name far");
        ip("addr add 10.9.0.1/24 dev near");
        ip("link set near up");
        ip("link set far up");
        ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:99 dev near");
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let sender = UdpSocket::bind((Ipv4Addr::new(10, 9, 0, 1), 0)).unwrap();
        let to = (Ipv4Addr::new(10, 9, 0, 2), 7777);
        for _ in 0..7 {
            sender.send_to(&[7; 30], to).unwrap();
        }
        let came = |seen: &Seen| {
            let there = seen.packets(PacketHook::Rx).filter(|(packet, _)| packet.payload_len == 30);
            there.count() >= 7
        };
        seen.collect(&mut capture, "the packets", came);
        drop(sender);
        seen.collect(&mut capture, "the end of the socket", |seen| seen.closed() == 1);
        assert_eq!(seen.drops(to.1).len(), 0);
    });
}

/// Packets that the qdisc of the loopback device threw away: `tc -s qdisc`.
fn dropped_by_qdisc() -> usize {
    let output = Command::new("tc").args(["-s", "qdisc", "show", "dev", "lo"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, rest) = text.split_once("(dropped ").unwrap();
    rest.split_once(',').unwrap().0.parse().unwrap()
}

#[test]
fn a_full_queue_drops_as_many_as_the_qdisc_counts() {
    in_own_netns(|netns| {
        let tbf = "qdisc add dev lo root tbf rate 1mbit burst 3000 limit 5000";
        assert!(Command::new("tc").args(tbf.split(' ')).status().unwrap().success());
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let reader = UdpSocket::bind((V4, 0)).unwrap();
        let sender = UdpSocket::bind((V4, 0)).unwrap();
        let to = reader.local_addr().unwrap();
        for _ in 0..50 {
            // The sender may be told that its datagram was dropped.
            let _ = sender.send_to(&[7; 1_000], to);
        }
        let dropped = dropped_by_qdisc();
        assert!(dropped > 20, "{dropped}");
        seen.collect(&mut capture, "the drops", |seen| seen.drops(to.port()).len() >= dropped);
        let drops = seen.drops(to.port());
        assert_eq!(drops.len(), dropped);
        assert!(drops.iter().all(|drop| drop.cause == DropCause::Queue), "{drops:?}");
    });
}

/// A packet filter's rule at this hook drops everything to a connection's server.
fn a_packet_filter(hook: &'static str, outward: bool) {
    in_own_netns(move |netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (mut client, server) = connect(V4);
        let to = port(&server);
        let rules = format!(
            "add table inet t; add chain inet t c {{ type filter hook {hook} priority 0; }}; add rule inet t c tcp dport {to} drop"
        );
        assert!(Command::new("nft").arg(rules).status().unwrap().success());
        client.write_all(&[7; 100]).unwrap();
        let is_of_bytes = |drop: &DroppedPacket| drop.len > 0;
        let came = |seen: &Seen| seen.drops(to).iter().any(is_of_bytes);
        seen.collect(&mut capture, "the drop", came);
        let drop = seen.drops(to).into_iter().find(is_of_bytes).unwrap();
        let (start, len) = sent(&seen.sends(seen.socket_at(port(&client)).id)[0]);
        assert_eq!((drop.cause, drop.len, drop.outward), (DropCause::Filter, len, outward));
        assert_eq!(drop.tcp.unwrap().seq, start);
        assert_eq!(drop.queued, None);
        let all = [PacketHook::Xmit, PacketHook::Rx].map(|hook| {
            seen.packets(hook)
                .any(|(packet, _)| packet.flow.dst.port() == to && packet.payload_len > 0)
        });
        assert_eq!(all, [!outward; 2], "seen to leave, and to come in");
    });
}

/// No device has seen such a packet.
#[test]
fn what_a_filter_drops_on_its_way_out_is_told_with_its_bytes() {
    a_packet_filter("output", true);
}

#[test]
fn what_a_filter_drops_on_its_way_in_is_told_with_its_bytes() {
    a_packet_filter("input", false);
}

#[test]
fn packets_are_deferred_while_ksoftirqd_has_work() {
    let _crowd = CROWD.lock();
    in_own_netns(|netns| {
        // Packets are received on another CPU than where they are sent, faster than it can take them.
        let script = "mount -t sysfs none /sys && echo 1 > /sys/class/net/lo/queues/rx-0/rps_cpus";
        let arguments = ["--mount", "sh", "-c", script];
        assert!(Command::new("unshare").args(arguments).status().unwrap().success());
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let _first = warm_up(&mut seen, &mut capture);
        let reader = UdpSocket::bind((V4, 0)).unwrap();
        let to = reader.local_addr().unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        while !seen.packets(PacketHook::Rx).any(|(packet, _)| packet.deferred) {
            assert!(Instant::now() < deadline, "no packet was deferred");
            seen.forget();
            let sender = UdpSocket::bind((V4, 0)).unwrap();
            let from = sender.local_addr().unwrap().port();
            thread::spawn(move || {
                pin(0, CROWDED);
                real_time(1);
                (0..3_000).for_each(|_| assert_eq!(sender.send_to(&[7; 20], to).unwrap(), 20));
            })
            .join()
            .unwrap();
            // The CPU's backlog takes 1,000 of them (net.core.netdev_max_backlog) and may drop the others. Not all of these
            // are seen: a softirq may interrupt a process that is closed to BPF (docs/results/correctness.md, "What process 1 hides").
            let they_came = |seen: &Seen| {
                let packets = seen.packets(PacketHook::Rx);
                packets.filter(|(packet, _)| packet.flow.src.port() == from).count() >= 900
            };
            seen.collect(&mut capture, "the packets", they_came);
        }
        // Each of them says since when ksoftirqd had waited. One of a later round of its work waited for something else.
        for (at, packet, _) in seen.packets_at(PacketHook::Rx) {
            let since = packet.deferred_since();
            assert!(since.is_none_or(|since| since > Nanos(0) && since < at), "{at}: {packet:?}");
        }
        // When it has slept again, interrupts receive what they always do.
        while seen.packets(PacketHook::Rx).all(|(packet, _)| packet.deferred) {
            assert!(Instant::now() < deadline, "every packet is deferred");
            seen.forget();
            let sender = UdpSocket::bind((V4, 0)).unwrap();
            (0..20).for_each(|_| assert_eq!(sender.send_to(&[7; 20], to).unwrap(), 20));
            seen.collect(&mut capture, "a packet", |seen| {
                seen.packets(PacketHook::Rx).next().is_some()
            });
        }
    });
}
