//! A CPU on which threads get in each other's way.

use crate::raw::real_time;
use crate::support::{own_tid, pin, wait_until};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wirelap_events::Nanos;

/// The crowded CPU; the tests' own threads keep off it.
pub const CROWDED: usize = 1;

/// One test at a time has the crowded CPU.
pub static CROWD: Mutex<()> = Mutex::new(());

/// A thread that, when told, keeps the crowded CPU: nothing of a lower priority runs there.
pub struct Neighbour {
    pub tid: u32,
    go: Sender<()>,
    busy: Receiver<()>,
    enough: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Neighbour {
    pub fn new(priority: i32) -> Neighbour {
        let (go, told) = channel();
        let (tell_busy, busy) = channel();
        let (tell_tid, tid) = channel();
        let enough = Arc::new(AtomicBool::new(false));
        let has_enough = Arc::clone(&enough);
        let work = move || {
            pin(0, CROWDED);
            real_time(priority);
            tell_tid.send(own_tid()).unwrap();
            while told.recv().is_ok() {
                tell_busy.send(()).unwrap();
                while !has_enough.swap(false, Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        };
        let thread = thread::Builder::new().name("neighbour".into()).spawn(work).unwrap();
        Neighbour { tid: tid.recv().unwrap(), go, busy, enough, thread }
    }

    /// Returns once it has the CPU.
    pub fn take_cpu(&self) {
        self.go.send(()).unwrap();
        self.busy.recv().unwrap();
    }

    /// Lets it have the CPU for some more time, and then no more.
    pub fn give_up_after(&self, time: Duration) {
        pass(time);
        self.enough.store(true, Ordering::Relaxed);
        wait_until(self.tid, 'S');
    }

    pub fn end(self) {
        drop(self.go);
        self.thread.join().unwrap();
    }
}

/// Lets time pass on this thread's CPU.
pub fn pass(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Times of the kernel's own counters of a thread: at `at` it had given up its CPU `voluntary` times
/// because it waited for something, and `involuntary` times without that.
#[derive(Clone, Copy, Debug)]
pub struct Switches {
    pub at: Nanos,
    pub voluntary: u64,
    pub involuntary: u64,
}

impl Switches {
    /// Those of this thread, now.
    pub fn own() -> Switches {
        let read = || {
            let status = fs::read_to_string("/proc/thread-self/status").unwrap();
            let field = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap().trim().parse::<u64>().unwrap()
            };
            (field("voluntary_ctxt_switches:"), field("nonvoluntary_ctxt_switches:"))
        };
        loop {
            let before = read();
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            if read() == before {
                let (voluntary, involuntary) = before;
                let at = u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap();
                return Switches { at: Nanos(at), voluntary, involuntary };
            }
        }
    }
}

/// A thread on the crowded CPU, above ordinary threads, that echoes bytes. A 2 it echoes twice, and
/// spins in between until `spin` is unset. Ends when its peer closes, with its counters after the first byte and at the end.
pub fn echo(mut far: TcpStream, spin: &AtomicBool, tell: &Sender<u32>) -> (Switches, Switches) {
    pin(0, CROWDED);
    real_time(1);
    let mut byte = [0];
    far.read_exact(&mut byte).unwrap();
    let from = Switches::own();
    tell.send(own_tid()).unwrap();
    while far.read(&mut byte).unwrap() > 0 {
        if byte == [2] {
            far.write_all(&byte).unwrap();
            while spin.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        }
        far.write_all(&byte).unwrap();
    }
    (from, Switches::own())
}
