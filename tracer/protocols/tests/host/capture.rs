//! tcpdump on the loopback interface, and the TCP segments in its file.

use super::{Guard, poll};
use pcap_file::pcap::PcapReader;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use wirelap_protocols::Reader;

/// A running capture.
pub struct Capture {
    process: Guard,
    says: JoinHandle<String>,
    path: PathBuf,
}

impl Capture {
    /// Starts capturing a TCP port and waits until it does.
    pub fn start(folder: &Path, port: u16) -> Capture {
        let path = folder.join("lo.pcap");
        let mut child = Command::new("tcpdump")
            // Room for 64 MiB: its ring has a slot of the snap length for each packet.
            .args(["-i", "lo", "-s", "65535", "-B", "65536", "-U", "--immediate-mode", "-w"])
            .arg(&path)
            .arg(format!("tcp port {port}"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("tcpdump");
        let mut says = BufReader::new(child.stderr.take().unwrap()).lines();
        let listening = says.find(|line| line.as_ref().is_ok_and(|l| l.contains("listening on")));
        let process = Guard(child);
        assert!(listening.is_some(), "tcpdump did not start: root?");
        let says = std::thread::spawn(move || says.map_while(Result::ok).collect());
        Capture { process, says, path }
    }

    /// Makes the last traffic, a message `end` to `the/end`, and stops when it is in the file. A
    /// capture that missed a packet is of no use and fails.
    pub fn finish(mut self, last: impl FnOnce()) -> PathBuf {
        last();
        poll("the end of the capture", || {
            let file = std::fs::read(&self.path).unwrap();
            file.windows(10).any(|bytes| bytes == b"the/endend").then_some(())
        });
        let pid = self.process.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        self.process.0.wait().unwrap();
        let said = self.says.join().unwrap();
        assert!(said.contains("0 packets dropped by kernel"), "{said}");
        self.path
    }
}

/// A TCP segment with payload.
pub struct Segment {
    pub client: u16,
    pub server: u16,
    pub from_client: bool,
    pub payload: Vec<u8>,
}

/// The segments in a capture of `server`, retransmissions left out.
pub fn read_packets(path: &Path, server: u16) -> Vec<Segment> {
    let mut reader = PcapReader::new(BufReader::new(File::open(path).unwrap())).unwrap();
    let mut seen = std::collections::HashSet::new();
    let mut segments = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let Ok(packet) = packet else { break }; // the last one may be half written
        let Some((ports, seq, payload)) = tcp(&packet.data) else { continue };
        if payload.is_empty() || !seen.insert((ports, seq)) {
            continue;
        }
        let from_client = ports.1 == server;
        let client = if from_client { ports.0 } else { ports.1 };
        segments.push(Segment { client, server, from_client, payload: payload.to_vec() });
    }
    segments
}

/// Ethernet, IPv4 and TCP: ports, sequence number, payload.
fn tcp(frame: &[u8]) -> Option<((u16, u16), u32, &[u8])> {
    let mut reader = Reader::new(frame);
    reader.skip(12)?;
    if reader.u16_be()? != 0x0800 {
        return None;
    }
    let header = usize::from(reader.peek()? & 0x0F) * 4;
    reader.skip(2)?;
    let total = usize::from(reader.u16_be()?);
    reader.skip(header.checked_sub(4)?)?;
    let mut tcp = reader.sub(total.checked_sub(header)?)?;
    let ports = (tcp.u16_be()?, tcp.u16_be()?);
    let seq = tcp.u32_be()?;
    tcp.skip(4)?;
    let offset = usize::from(tcp.u8()? >> 4) * 4;
    tcp.skip(offset.checked_sub(13)?)?;
    Some((ports, seq, tcp.rest()))
}
