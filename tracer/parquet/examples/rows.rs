//! Messages a second that can be written: `cargo run -p wirelap-parquet --example rows -- 1000000`.
//!
//! The messages have two legs with all stages of a brokered message, whose times vary as those of a quiet machine do.

#![expect(clippy::print_stdout, reason = "an example")]

use std::fs::File;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;
use wirelap_events::{Delivery, SampleStatus, Stage, Stamp, TopicId};
use wirelap_parquet::{Sampler, TableFiles, WhenBehind};
use wirelap_report::SampleOrigin;
use wirelap_test_support::delivered;

/// The stages of a leg of TCP on which nothing was lost.
const STAGES: [Stage; 9] = [
    Stage::Send,
    Stage::Sent,
    Stage::Queue,
    Stage::Xmit,
    Stage::Rx,
    Stage::Ready,
    Stage::Wakeup,
    Stage::Running,
    Stage::Read,
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows: u32 = std::env::args().nth(1).as_deref().unwrap_or("1000000").parse()?;
    let (kept, files) = channel();
    let mut sampler = Sampler::start(KeptFiles(kept), WhenBehind::Wait)?;
    let origin =
        sampler.add_origin(SampleOrigin { middleware: "mqtt".into(), ..SampleOrigin::default() });
    sampler.topic(TopicId(1), b"wirelap/latency");
    let mut random = 1_u64;
    // Made before, so that only writing is measured.
    let deliveries: Vec<Delivery> =
        (0..rows.min(10_000)).map(|n| delivery(n, &mut random)).collect();
    let began = Instant::now();
    for delivery in deliveries.iter().cycle().take(usize::try_from(rows)?) {
        sampler.delivery(origin, delivery, SampleStatus::Counted);
    }
    let handed_over = began.elapsed();
    let written = sampler.finish();
    let whole = began.elapsed();
    if let Some(error) = written.error {
        return Err(error.into());
    }
    let bytes = files.recv()?.metadata()?.len();
    println!(
        "{rows} rows in {:.2} s: {:.0} rows a second, {:.1} bytes a row; handed over in {:.2} s",
        whole.as_secs_f64(),
        f64::from(rows) / whole.as_secs_f64(),
        bytes as f64 / f64::from(rows),
        handed_over.as_secs_f64(),
    );
    Ok(())
}

/// Hands over what was written.
struct KeptFiles(Sender<File>);

impl TableFiles for KeptFiles {
    fn begin(&mut self) -> io::Result<File> {
        tempfile::tempfile()
    }

    fn keep(&mut self, file: File) -> io::Result<()> {
        self.0.send(file).map_err(io::Error::other)
    }

    fn keeps_empty(&self) -> bool {
        true
    }
}

/// A message of two legs.
fn delivery(number: u32, random: &mut u64) -> Delivery {
    let mut at = u64::from(number) * 100_000;
    let mut leg = || {
        let stages = STAGES.map(|stage| {
            *random ^= *random << 13;
            *random ^= *random >> 7;
            *random ^= *random << 17;
            at += 500 + *random % 4_000;
            (stage, at)
        });
        delivered::leg(&stages)
    };
    let legs = [leg(), leg()];
    Delivery {
        stamp: Some(Stamp { stream: 0, seq: number, reply: false, warmup: false }),
        topic: Some(TopicId(1)),
        ..delivered::delivery(legs)
    }
}
