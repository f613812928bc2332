//! Prints every event. Usage: `dump [--port N]… [--pid N]… [--seconds N] [--no-udp] [--hooks]`.

use std::time::{Duration, Instant};
use wirelap_capture::{Capture, CaptureConfig};
use wirelap_events::{Body, Event, Pid};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = CaptureConfig::default();
    let mut seconds = 10;
    let mut show_hooks = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--port" => config.ports.push(value()?.parse()?),
            "--pid" => config.pids.push(Pid(value()?.parse()?)),
            "--cgroup" => config.cgroup = Some(value()?.into()),
            "--seconds" => seconds = value()?.parse()?,
            "--ring" => config.ring_bytes = value()?.parse()?,
            "--no-udp" => config.datagrams = wirelap_capture::UdpHooks::Never,
            "--hooks" => show_hooks = true,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let mut capture = Capture::attach(&config)?;
    if show_hooks {
        for hook in capture.hooks() {
            println!("{:<28} {}", hook.observation, hook.hook.unwrap_or("-"));
            for refusal in &hook.refused {
                println!("{:<28}   not {}: {}", "", refusal.hook, refusal.reason);
            }
        }
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        capture.poll(Duration::from_millis(100), &mut print)?;
    }
    for counters in capture.counters() {
        println!("{counters:?}");
    }
    Ok(())
}

fn print(event: &Event<'_>) {
    match event.body {
        Body::Packet(mut packet) => {
            let captured = packet.payload.len();
            packet.payload = &packet.payload[..captured.min(16)];
            println!("{} cpu{} captured={captured} {packet:?}", event.at.0, event.cpu.0);
        }
        body => println!("{} cpu{} {body:?}", event.at.0, event.cpu.0),
    }
}
