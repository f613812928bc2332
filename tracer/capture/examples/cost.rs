//! Measures what tracing costs the traced program: a ping-pong, alternately with and without probes, in one run, and beside
//! `tcpdump -s 96`. Then what each program takes, by the kernel's own count.
//!
//! Usage, as root: `chrt -f 10 cost [--rounds N] [--hook-rounds N] [--messages N] [--bytes N] [--ring BYTES]` (`make cost`). Both ends
//! run on CPU 0, the reader of the ring buffer and tcpdump on CPU 1. Prints medians over the rounds; with 0 rounds, only what each
//! program takes. With `--hook-rounds`, also what is saved by leaving out the hooks of one observation.

use aya::programs::loaded_programs;
use aya::sys::{Stats, enable_stats};

use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::ClockId;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wirelap_capture::{Capture, CaptureConfig, MAX_BATCH, UdpHooks};
use wirelap_events::TraceDetail;

type Error = Box<dyn std::error::Error>;

/// The probes that are attached during a block of round trips.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// No probes.
    Off,
    /// No probes, and tcpdump copies 96 bytes of each packet on `lo`, as a program that people know.
    Tcpdump,
    /// All probes, paused.
    Paused,
    /// The probes at sends and reads.
    Ends,
    /// Those at packets, too.
    Path,
    /// The probes that TCP needs.
    Tcp,
    /// All probes, with the kernel's ring buffer.
    KernelRing,
    /// All probes, which keep their CPU.
    KeepsCpu,
    /// All probes.
    All,
    /// All probes but these programs.
    Without(&'static [&'static str]),
}

/// All probes, and all but those of one observation of TCP.
const HOOKS: [(State, &str); 10] = [
    (State::Off, "not traced"),
    (State::Tcpdump, "tcpdump -s 96"),
    (State::All, "traced"),
    (State::Without(&["send_exit"]), "without the exit of sends"),
    (State::Without(&["ready"]), "without data ready"),
    (State::Without(&["task_woken", "task_switch"]), "without scheduling"),
    (State::Without(&["packet_rx"]), "without packets in"),
    (State::Without(&["packet_rx", "packet_xmit"]), "without packets"),
    (State::Without(&["send_tcp"]), "without sends"),
    (
        State::Without(&["ready", "send_exit", "task_woken", "task_switch"]),
        "without data ready, the exit of sends and scheduling",
    ),
];

/// Those of UDP, which is observed at packets whatever the detail, are without the states of less detail.
const STATES: [(State, &str); 9] = [
    (State::Off, "not traced"),
    (State::Tcpdump, "tcpdump -s 96"),
    (State::Paused, "attached, window closed"),
    (State::Ends, "traced, detail ends"),
    (State::Path, "traced, detail path"),
    (State::Tcp, "traced, --no-udp"),
    (State::KernelRing, "traced, the kernel's ring buffer"),
    (State::KeepsCpu, "traced, keeping the CPU"),
    (State::All, "traced"),
];

const HEADING: &str = "\
| ping-pong | state | ns a round trip | added | × tcpdump | records | ns a record | reader's ns a record |
|---|---|---:|---:|---:|---:|---:|---:|";

/// The figures of one block, divided by its round trips.
#[derive(Clone, Copy)]
struct Block {
    nanos: f64,
    records: f64,
    /// CPU time of the thread that reads the ring buffer, in nanoseconds.
    reader: f64,
}

fn main() -> Result<(), Error> {
    let (mut rounds, mut hook_rounds, mut messages, mut bytes) = (25, 0, 4_000, 64);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or("an argument needs a value")?.parse()?;
        match arg.as_str() {
            "--rounds" => rounds = value,
            "--hook-rounds" => hook_rounds = value,
            "--messages" => messages = value,
            "--ring" => RING.set(u32::try_from(value)?),
            "--bytes" => bytes = value,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    if hook_rounds > 0 {
        println!("{hook_rounds} rounds of {messages} round trips of {bytes} bytes, hook by hook\n");
        println!("{HEADING}");
        report("TCP", &HOOKS, hook_rounds, &mut || tcp(messages, bytes))?;
        println!();
    }
    println!("{rounds} rounds of {messages} round trips of {bytes} bytes in each state\n");
    if rounds > 0 {
        println!("{HEADING}");
        let has_less = |state| matches!(state, State::Ends | State::Path);
        let of_udp: Vec<_> = STATES.into_iter().filter(|(state, _)| !has_less(*state)).collect();
        report("TCP", &STATES, rounds, &mut || tcp(messages, bytes))?;
        report("UDP", &of_udp, rounds, &mut || udp(messages, bytes))?;
        println!();
    }
    println!("| ping-pong | program | runs a round trip | ns a run | ns a round trip |");
    println!("|---|---|---:|---:|---:|");
    by_program("TCP", State::All, &mut || tcp(messages, bytes))?;
    by_program("TCP, the kernel's ring buffer", State::KernelRing, &mut || tcp(messages, bytes))?;
    by_program("TCP, keeping the CPU", State::KeepsCpu, &mut || tcp(messages, bytes))?;
    by_program("TCP, detail ends", State::Ends, &mut || tcp(messages, bytes))?;
    by_program("UDP", State::All, &mut || udp(messages, bytes))
}

/// Runs one block; returns the mean time of a round trip in nanoseconds.
type Run<'a> = &'a mut dyn FnMut() -> Result<f64, Error>;

fn report(name: &str, states: &[(State, &str)], rounds: usize, run: Run<'_>) -> Result<(), Error> {
    let mut blocks = vec![Vec::new(); states.len()];
    for round in 0..rounds {
        // The order changes in each round, so that drift affects all states equally.
        for turn in 0..states.len() {
            let index = (turn + round) % states.len();
            blocks[index].push(block(states[index].0, run)?);
        }
    }
    let off = blocks[0].clone();
    let added_by =
        |blocks: &[Block]| median(blocks.iter().zip(&off).map(|(on, off)| on.nanos - off.nanos));
    let tcpdump = added_by(&blocks[1]);
    for ((_, state), blocks) in states.iter().zip(&blocks) {
        let nanos = median(blocks.iter().map(|block| block.nanos));
        let added = added_by(blocks);
        let records = median(blocks.iter().map(|block| block.records));
        let reader = median(blocks.iter().map(|block| block.reader));
        let [each, reader] = [added, reader]
            .map(|ns| if records >= 1.0 { format!("{:.0}", ns / records) } else { String::new() });
        println!(
            "| {name} | {state} | {nanos:.0} | {added:.0} | {:.2} | {records:.1} | {each} | {reader} |",
            added / tcpdump
        );
    }
    Ok(())
}

/// Number of runs of each program and their time in all, by its number and name.
type Runs = BTreeMap<(u32, String), (u64, Duration)>;

fn runs() -> Result<Runs, Error> {
    let mut runs = Runs::new();
    for program in loaded_programs() {
        let program = program?;
        let name = program.name_as_str().unwrap_or("?").to_owned();
        runs.insert((program.id(), name), (program.run_count(), program.run_time()));
    }
    Ok(runs)
}

/// Prints what each program took, most first. The kernel reads two clocks a run for this, which is part of the times.
fn by_program(name: &str, state: State, run: Run<'_>) -> Result<(), Error> {
    let _counted = enable_stats(Stats::RunTime)?;
    let others = runs()?;
    let mut taken = Vec::new();
    block(state, &mut || {
        let before = runs()?;
        let nanos = run()?;
        for (program, (count, time)) in runs()? {
            let (earlier, spent) = before.get(&program).copied().unwrap_or_default();
            if count > earlier && !others.contains_key(&program) {
                taken.push((time.saturating_sub(spent), count - earlier, program.1));
            }
        }
        Ok(nanos)
    })?;
    taken.sort_by_key(|(time, ..)| std::cmp::Reverse(*time));
    let round_trips = MEASURED.with(std::cell::Cell::get);
    let mut sum = 0.0;
    for (time, count, program) in taken {
        let (nanos, count) = (time.as_secs_f64() * 1e9, count as f64);
        sum += nanos / round_trips;
        println!(
            "| {name} | {program} | {:.1} | {:.0} | {:.0} |",
            count / round_trips,
            nanos / count,
            nanos / round_trips
        );
    }
    println!("| {name} | all | | | {sum:.0} |");
    Ok(())
}

/// tcpdump on CPU 1, once it captures.
fn tcpdump() -> Result<Child, Error> {
    let words = "-c 1 tcpdump -i lo -s 96 -w /dev/null";
    let mut tcpdump =
        Command::new("taskset").args(words.split(' ')).stderr(Stdio::piped()).spawn()?;
    let said = tcpdump.stderr.take().map(BufReader::new);
    for line in said.into_iter().flat_map(BufRead::lines) {
        if line?.contains("listening on") {
            return Ok(tcpdump);
        }
    }
    Err("tcpdump does not capture: install it, and run this as root".into())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn block(state: State, run: Run<'_>) -> Result<Block, Error> {
    if state == State::Off {
        return Ok(Block { nanos: run()?, records: 0.0, reader: 0.0 });
    }
    if state == State::Tcpdump {
        let mut tcpdump = tcpdump()?;
        let nanos = run();
        tcpdump.kill()?;
        tcpdump.wait()?;
        return Ok(Block { nanos: nanos?, records: 0.0, reader: 0.0 });
    }
    let datagrams = if state == State::Tcp { UdpHooks::Never } else { UdpHooks::WhenSeen };
    let detail = match state {
        State::Ends => TraceDetail::Ends,
        State::Path => TraceDetail::Path,
        _ => TraceDetail::Full,
    };
    let kernel_ring = state == State::KernelRing;
    let keeps_cpu = Some(state == State::KeepsCpu);
    let config = CaptureConfig {
        datagrams,
        detail,
        kernel_ring,
        keeps_cpu,
        exclude_self: false,
        ring_bytes: RING.get(),
        ..CaptureConfig::default()
    };
    let mut capture = Capture::attach(&config)?;
    if let State::Without(programs) = state {
        capture.leave_out(programs);
    }
    if state == State::Paused {
        capture.set_window(false)?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let reader = thread::spawn({
        let stop = Arc::clone(&stop);
        move || -> Result<(usize, f64), String> {
            pin(1).map_err(|error| error.to_string())?;
            let mut records = 0;
            let mut last = 0;
            while last >= MAX_BATCH || !stop.load(Ordering::Relaxed) {
                last = capture
                    .poll(Duration::from_millis(10), &mut |_| {})
                    .map_err(|error| error.to_string())?;
                records += last;
            }
            let lost: u64 = capture.counters().iter().map(|counters| counters.lost).sum();
            let time = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
            let cpu = time.tv_sec as f64 * 1e9 + time.tv_nsec as f64;
            if lost > 0 { Err(format!("{lost} events were lost")) } else { Ok((records, cpu)) }
        }
    });
    let nanos = run();
    stop.store(true, Ordering::Relaxed);
    let (records, cpu) = reader.join().map_err(|_| "the reader panicked")??;
    let round_trips = MEASURED.with(std::cell::Cell::get);
    Ok(Block { nanos: nanos?, records: records as f64 / round_trips, reader: cpu / round_trips })
}

thread_local! {
    /// Bytes of the ring buffer.
    static RING: std::cell::Cell<u32> = const { std::cell::Cell::new(64 << 20) };
    /// The round trips of the last block, by which its records are divided.
    static MEASURED: std::cell::Cell<f64> = const { std::cell::Cell::new(1.0) };
}

fn pin(cpu: usize) -> rustix::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set)
}

/// Measures `messages` round trips after a warm-up of a tenth as many. Returns the mean time in nanoseconds.
fn time(messages: usize, mut round_trip: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    let warm_up = messages / 10;
    for _ in 0..warm_up {
        round_trip()?;
    }
    let start = Instant::now();
    for _ in 0..messages {
        round_trip()?;
    }
    MEASURED.with(|measured| measured.set((messages + warm_up) as f64));
    Ok(start.elapsed().as_secs_f64() * 1e9 / messages as f64)
}

fn tcp(messages: usize, bytes: usize) -> Result<f64, Error> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    let mut far = listener.accept()?.0;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let pong = thread::spawn(move || {
        let mut buffer = vec![0; bytes];
        let pinned = pin(0);
        // The loop ends when the other end closes the connection.
        while pinned.is_ok() && far.read_exact(&mut buffer).is_ok() {
            if far.write_all(&buffer).is_err() {
                break;
            }
        }
    });
    pin(0)?;
    let mut buffer = vec![0; bytes];
    let nanos = time(messages, || {
        near.write_all(&buffer)?;
        Ok(near.read_exact(&mut buffer)?)
    });
    drop(near);
    pong.join().map_err(|_| "the pong panicked")?;
    nanos
}

fn udp(messages: usize, bytes: usize) -> Result<f64, Error> {
    let near = UdpSocket::bind("127.0.0.1:0")?;
    let far = UdpSocket::bind("127.0.0.1:0")?;
    near.connect(far.local_addr()?)?;
    far.connect(near.local_addr()?)?;
    let pong = thread::spawn(move || {
        let mut buffer = vec![0; bytes + 1];
        let pinned = pin(0);
        // A datagram of another length ends the loop.
        while pinned.is_ok() && far.recv(&mut buffer).is_ok_and(|len| len == bytes) {
            if far.send(&buffer[..bytes]).is_err() {
                break;
            }
        }
    });
    pin(0)?;
    let mut buffer = vec![0; bytes];
    let nanos = time(messages, || {
        near.send(&buffer)?;
        near.recv(&mut buffer)?;
        Ok(())
    });
    near.send(&buffer[1..])?;
    pong.join().map_err(|_| "the pong panicked")?;
    nanos
}
