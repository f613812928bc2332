//! Measures how long detaching the probes and attaching them again takes, and prints medians. Usage, as root: `pause [TIMES]`.

use std::time::{Duration, Instant};
use wirelap_capture::{Capture, CaptureConfig, UdpHooks};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let times: usize = std::env::args().nth(1).map_or(Ok(100), |times| times.parse())?;
    for datagrams in [UdpHooks::Never, UdpHooks::Always] {
        let config = CaptureConfig { datagrams, ..CaptureConfig::default() };
        let mut capture = Capture::attach(&config)?;
        let (mut off, mut on) = (Vec::new(), Vec::new());
        for _ in 0..times {
            let start = Instant::now();
            capture.detach()?;
            off.push(start.elapsed());
            let start = Instant::now();
            capture.attach_again()?;
            on.push(start.elapsed());
            capture.poll(Duration::ZERO, &mut |_| {})?;
        }
        let [off, on] = [off, on].map(|mut all| {
            all.sort_unstable();
            (all[times / 2], all[times - 1])
        });
        println!(
            "{datagrams:?}: detached in {:?} (at most {:?}), attached in {:?} (at most {:?})",
            off.0, off.1, on.0, on.1
        );
    }
    Ok(())
}
