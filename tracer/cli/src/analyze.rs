//! `wirelap analyze`: recordings and captures through the same pipeline as what happens now.

use crate::json::Json;
use crate::quantity;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wirelap_process::Failure;
use wirelap_process::Outputs;
use wirelap_process::rights;
use wirelap_replay::{Nobody, Replay};
use wirelap_report::explain::{Options, pages};
use wirelap_report::table;

const EXAMPLES: &str = "\
Examples:
  wirelap analyze trace.pcapng
  wirelap analyze ring-*.pcapng --json out.json      the files of a ring, in order
  zcat capture.pcap.gz | wirelap analyze -           gzip and zstd are also read as they are
  wirelap analyze tcpdump.pcap --decode 11883=mqtt
  wirelap analyze client.pcap server.pcap            both ends, captured on two hosts whose clocks differ
  wirelap analyze pub.pcap broker.pcap sub.pcap      any number of hosts, in any order
  wirelap analyze trace.pcapng --annotate told.pcapng          for Wireshark: each packet tells of its messages
  tcpdump -w - port 1883 | wirelap analyze - --annotate told.pcapng

Recordings of `wirelap record` give the same result as while they were recorded. Captures of others have packets alone: no calls, no
threads; a message's time is then that between its first and its last packet.";

/// `wirelap analyze`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AnalyzeArgs {
    /// Recordings and captures (pcapng, pcap; gzip, zstd), in the order of time; - for stdin
    #[arg(value_name = "FILE|-", required = true)]
    pub files: Vec<PathBuf>,

    /// Write JSON (schema wirelap/run/1) to this file; - for stdout
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// Explain each result on a page, in place of the lines below the table
    #[arg(long)]
    pub explain: bool,

    /// Write the capture again as pcapng, with what became of each message beside its packets
    #[arg(long, value_name = "FILE|-")]
    pub annotate: Option<PathBuf>,

    /// Replace files that are there already
    #[arg(long)]
    pub force: bool,

    /// Take a port's traffic for this protocol, whatever it looks like, e.g. 11883=mqtt
    #[arg(long, value_name = "PORT=PROTO", value_delimiter = ',', value_parser = quantity::decode)]
    pub decode: Vec<(u16, String)>,
}

/// Reads all files and reports.
///
/// # Errors
/// A file cannot be read, or the results could not be written.
pub fn run(args: &AnalyzeArgs) -> Result<ExitCode, Failure> {
    let outputs = Outputs::of(args.json.iter().chain(&args.annotate), args.force)?;
    let json = Json::open(args.json.as_deref(), &outputs)?;
    let mut replay = Replay::new(&args.decode, Nobody);
    if let Some(copy) = &args.annotate {
        if let Some(path) = args.files.iter().find(|path| is_same(path, copy)) {
            return Err(Failure::Usage(format!(
                "--annotate cannot write over {}, which is read: name another file",
                path.display()
            )));
        }
        outputs.allow(copy, false)?;
        replay.annotate(copy, &outputs);
    }
    outputs.seal()?;
    rights::confine_reader();
    replay.files(&args.files)?;
    let report = replay.end()?.report;
    let text =
        if args.explain { pages(&report, Options::default()) } else { table::render(&report) };
    json.write(&report, &text)?;
    Ok(ExitCode::SUCCESS)
}

fn is_same(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| std::fs::canonicalize(path).ok();
    whole(a).is_some_and(|a| whole(b) == Some(a))
}
