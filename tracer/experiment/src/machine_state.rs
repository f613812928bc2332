//! Measures how fast the machine itself is, before and during a trial, so that two runs can be told apart from two states of
//! one machine. The reference is the kernel's own work for a message, without a middleware: a datagram over a Unix socket, which
//! adds nothing to the counters of a network device.

use crate::median::median;
use procfs::{CpuTime, CurrentSI, KernelStats};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
use std::os::unix::net::UnixDatagram;
use std::thread;
use std::time::{Duration, Instant};
use wirelap_events::Total;
use wirelap_report::MachineState;

/// The bytes of a datagram.
const BYTES: usize = 64;

/// Number of times that each operation is done before it is measured: the first ones fill caches and wake the CPUs.
const WARM_UP: usize = 200;

/// Number of times that each operation is measured.
const MEASURED: usize = 1_000;

/// A datagram that takes longer is lost.
const LOST: Duration = Duration::from_millis(200);

/// The CPU time of all CPUs since the machine started, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MachineCpuTimes {
    /// The time in which something was ready to run: all but `idle` and `iowait`.
    wanted: u64,
    /// The part of it in which the hypervisor ran something else.
    steal: u64,
}

/// The state of the machine before and during a trial.
#[derive(Debug)]
pub struct MachineWatch {
    state: MachineState,
    began: Option<MachineCpuTimes>,
}

impl MachineWatch {
    /// Does the reference measurements, which take about a tenth of a second. The threads run on the first two of the CPUs that
    /// the workloads are pinned to, or of all.
    pub fn measure(pinned: &[usize]) -> MachineWatch {
        let cpus = two_cpus(pinned);
        let state = MachineState {
            round_trip_ns: round_trip(cpus).ok(),
            send_and_read_ns: on_a_thread(cpus[0], send_and_read).ok(),
            steal_share: None,
        };
        MachineWatch { state, began: None }
    }

    /// The trial begins: stolen time counts from now on.
    pub fn begin(&mut self) {
        self.began = cpu_times();
    }

    /// The state until now.
    pub fn end(self) -> MachineState {
        let steal_share = self.began.zip(cpu_times()).and_then(|(from, to)| share(from, to));
        MachineState { steal_share, ..self.state }
    }
}

/// The first two CPUs of those given, or of those that this process may use. A single one is both.
fn two_cpus(pinned: &[usize]) -> [Option<usize>; 2] {
    let allowed = sched_getaffinity(None).ok();
    let allowed =
        allowed.iter().flat_map(|set| (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)));
    let cpus: Vec<usize> =
        if pinned.is_empty() { allowed.take(2).collect() } else { pinned.to_vec() };
    let first = cpus.first().copied();
    [first, cpus.get(1).copied().or(first)]
}

/// Runs `work` on a thread of its own that is bound to a CPU.
fn on_a_thread<T: Send>(
    cpu: Option<usize>,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let thread =
            thread::Builder::new().name("bound".into()).spawn_scoped(scope, move || {
                bind(cpu)?;
                work()
            })?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread has panicked")))
    })
}

/// Binds the calling thread to a CPU.
fn bind(cpu: Option<usize>) -> io::Result<()> {
    let Some(cpu) = cpu.filter(|&cpu| cpu < CpuSet::MAX_CPU) else { return Ok(()) };
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Two sockets that are connected with each other.
fn sockets() -> io::Result<(UnixDatagram, UnixDatagram)> {
    let (near, far) = UnixDatagram::pair()?;
    near.set_read_timeout(Some(LOST))?;
    far.set_read_timeout(Some(LOST))?;
    Ok((near, far))
}

/// The median round trip between two threads in nanoseconds.
fn round_trip([near, far]: [Option<usize>; 2]) -> io::Result<u64> {
    let (ping, pong) = sockets()?;
    thread::scope(|scope| {
        thread::Builder::new().name("echo".into()).spawn_scoped(scope, move || echo(&pong, far))?;
        on_a_thread(near, || {
            let mut datagram = [0; BYTES];
            let median = median_of(|| {
                ping.send(&datagram)?;
                ping.recv(&mut datagram)
            });
            // An empty datagram ends the echo, which would otherwise wait for a further one until it is lost.
            ping.send(&[])?;
            median
        })
    })
}

/// Sends each datagram back until an empty one comes, or none for some time.
fn echo(socket: &UnixDatagram, cpu: Option<usize>) -> io::Result<()> {
    bind(cpu)?;
    let mut datagram = [0; BYTES];
    while socket.recv(&mut datagram)? > 0 {
        socket.send(&datagram)?;
    }
    Ok(())
}

/// The median time in nanoseconds in which a thread sends itself a datagram and reads it.
fn send_and_read() -> io::Result<u64> {
    let (near, far) = sockets()?;
    let mut datagram = [0; BYTES];
    median_of(|| {
        near.send(&datagram)?;
        far.recv(&mut datagram)
    })
}

/// The median time of an operation in nanoseconds.
fn median_of(mut operation: impl FnMut() -> io::Result<usize>) -> io::Result<u64> {
    for _ in 0..WARM_UP {
        operation()?;
    }
    let mut times = Vec::with_capacity(MEASURED);
    for _ in 0..MEASURED {
        let began = Instant::now();
        operation()?;
        times.push(began.elapsed());
    }
    Ok(u64::try_from(median(times, Duration::cmp).as_nanos()).unwrap_or(u64::MAX))
}

fn cpu_times() -> Option<MachineCpuTimes> {
    of_all_cpus(&KernelStats::current().ok()?.total)
}

/// The first line of `/proc/stat` (proc(5)). The guests' time is in `user` and `nice` already. `None` on a kernel before 2.6.11, which tells
/// no stolen time.
fn of_all_cpus(times: &CpuTime) -> Option<MachineCpuTimes> {
    let (irq, softirq, steal) = (times.irq?, times.softirq?, times.steal?);
    let wanted = [times.user, times.nice, times.system, irq, softirq, steal].into_iter().total();
    Some(MachineCpuTimes { wanted, steal })
}

/// The stolen share of the wanted time between two readings; `None` if there was none.
fn share(from: MachineCpuTimes, to: MachineCpuTimes) -> Option<f64> {
    let wanted = to.wanted.checked_sub(from.wanted).filter(|&wanted| wanted > 0)?;
    Some(to.steal.saturating_sub(from.steal) as f64 / wanted as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::{ExplicitSystemInfo, FromBufReadSI};

    #[test]
    fn both_reference_operations_are_measured() {
        let mut watch = MachineWatch::measure(&[]);
        watch.begin();
        let state = watch.end();
        let (round_trip, alone) = (state.round_trip_ns.unwrap(), state.send_and_read_ns.unwrap());
        assert!(alone > 0 && round_trip > alone, "{state:?}");
        assert!(state.steal_share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{state:?}");
    }

    #[test]
    fn a_cpu_that_does_not_exist_costs_the_measurement_only() {
        let state = MachineWatch::measure(&[CpuSet::MAX_CPU - 1]).end();
        assert_eq!((state.round_trip_ns, state.send_and_read_ns), (None, None));
        assert_eq!(state.steal_share, None, "it has not begun");
    }

    #[test]
    fn cpus_are_those_of_the_workloads() {
        assert_eq!(two_cpus(&[3, 1, 2]), [Some(3), Some(1)]);
        assert_eq!(two_cpus(&[1]), [Some(1); 2]);
        assert!(two_cpus(&[])[0].is_some());
    }

    fn parse(cpu: &str) -> Option<MachineCpuTimes> {
        let stat = format!("{cpu}\nctxt 1\nbtime 1\nprocesses 1\n");
        let system = ExplicitSystemInfo {
            boot_time_secs: 0,
            ticks_per_second: 100,
            page_size: 4096,
            is_little_endian: true,
        };
        let stats = KernelStats::from_buf_read(stat.as_bytes(), &system).unwrap();
        of_all_cpus(&stats.total)
    }

    #[test]
    fn steal_is_a_share_of_the_wanted_time() {
        let from = parse("cpu  100 0 50 800 10 0 5 35 7 0").unwrap();
        assert_eq!(from, MachineCpuTimes { wanted: 190, steal: 35 });
        let to = parse("cpu  180 0 50 900 20 0 5 55 7 0").unwrap();
        assert_eq!(share(from, to), Some(0.2), "20 of 100 ticks; the idle ones do not count");
        assert_eq!(share(to, to), None);
        assert_eq!(parse("cpu  1 2 3 4"), None, "a kernel before 2.6.11");
    }
}
