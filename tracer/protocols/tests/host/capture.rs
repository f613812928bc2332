//! tcpdump on the loopback interface.

use super::{Guard, poll};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

/// A running capture.
pub struct Capture {
    process: Guard,
    says: JoinHandle<Vec<String>>,
    path: PathBuf,
}

impl Capture {
    /// Starts capturing a TCP port and waits until it does.
    pub fn start(folder: &Path, port: u16) -> Capture {
        let path = folder.join("lo.pcap");
        let mut child = Command::new("tcpdump")
            // Room for 4,096 packets: its ring has a slot of the snap length for each.
            .args(["-i", "lo", "-s", "65535", "-B", "262144", "-U", "--immediate-mode", "-w"])
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
        let has_all = |line: &String| line.trim() == "0 packets dropped by kernel";
        assert!(said.iter().any(has_all), "{said:?}");
        self.path
    }
}
