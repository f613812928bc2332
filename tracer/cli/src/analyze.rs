//! `wirelap analyze`: reads recordings and captures through the same pipeline as live events.

use crate::common::BreakdownArgs;
use crate::json::Json;
use crate::parquet::MessageTable;
use crate::quantity;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wirelap_process::Failure;
use wirelap_process::Outputs;
use wirelap_process::rights;
use wirelap_replay::{Follower, NoFollower, Replay, Replayed};
use wirelap_report::explain::{ExplainOptions, pages};
use wirelap_report::table;

const EXAMPLES: &str = "\
Examples:
  wirelap analyze trace.pcapng
  wirelap analyze ring-*.pcapng --json out.json      the files of a ring, in order
  zcat capture.pcap.gz | wirelap analyze -           compressed files (gzip, zstd) can also be named directly
  wirelap analyze tcpdump.pcap --decode 11883=mqtt
  wirelap analyze client.pcap server.pcap            both ends, captured on two hosts whose clocks differ
  wirelap analyze pub.pcap broker.pcap sub.pcap      any number of hosts, in any order
  wirelap analyze tls.pcapng --tls-keys keys.log               messages inside TLS; keys.log is what $SSLKEYLOGFILE named
  wirelap analyze trace.pcapng --by topic,client               what each client sent and got, topic by topic
  wirelap analyze trace.pcapng --annotate out.pcapng           for Wireshark: each packet has a comment on its messages
  tcpdump -w - port 1883 | wirelap analyze - --annotate out.pcapng
  wirelap analyze ring-*.pcapng --parquet messages.parquet     a row for each delivery, for DuckDB, Polars and pandas

A recording of `wirelap record` gives the same result as the session that was recorded. A capture of another program has packets only, no
system calls and no threads: the time of a message is then the time from its first to its last packet.";

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

    /// Rows by topic, client and so on.
    #[command(flatten)]
    pub breakdown: BreakdownArgs,

    /// Write a copy as pcapng, in which the packets have comments on what became of their messages
    #[arg(long, value_name = "FILE|-")]
    pub annotate: Option<PathBuf>,

    /// Write a row for each delivery to this Parquet file, with all times of its way (wirelap must be built with the feature
    /// `parquet`)
    #[arg(long, value_name = "FILE", conflicts_with = "annotate")]
    pub parquet: Option<PathBuf>,

    /// Replace existing files
    #[arg(long)]
    pub force: bool,

    /// Read messages inside TLS 1.2 and 1.3 with the keys in this file (SSLKEYLOGFILE), beside those in the captures themselves; may
    /// be given several times
    #[arg(long, value_name = "FILE")]
    pub tls_keys: Vec<PathBuf>,

    /// Decode the traffic of a port as this protocol, e.g. 11883=mqtt
    #[arg(long, value_name = "PORT=PROTO", value_delimiter = ',', value_parser = quantity::decode)]
    pub decode: Vec<(u16, String)>,
}

/// Reads all files and writes the report.
///
/// # Errors
/// A file cannot be read, or the results could not be written.
pub fn run(args: &AnalyzeArgs) -> Result<ExitCode, Failure> {
    let written = args.json.iter().chain(&args.annotate).chain(&args.parquet);
    let outputs = Outputs::of(written, args.force)?;
    let json = Json::open(args.json.as_deref(), &outputs)?;
    let mut messages = MessageTable::open(args.parquet.as_deref(), false, &outputs)?;
    if let Some(copy) = &args.annotate {
        if let Some(path) = args.files.iter().find(|path| is_same(path, copy)) {
            return Err(Failure::Usage(format!(
                "--annotate cannot overwrite {}, which is an input file: name another file",
                path.display()
            )));
        }
        outputs.allow(copy, false)?;
    }
    outputs.seal()?;
    rights::confine_reader();
    let (report, kept) = if let Some(table) = messages.follower()? {
        let mut replay = replay(args, &outputs, table)?;
        replay.files(&args.files)?;
        let Replayed { follower, report, .. } = replay.end()?;
        (report, messages.judge(follower.finish()))
    } else {
        let mut replay = replay(args, &outputs, NoFollower)?;
        replay.read_for_report(&args.files)?;
        (replay.end()?.report, Ok(()))
    };
    let text = if args.explain {
        pages(&report, ExplainOptions::default())
    } else {
        table::render(&report)
    };
    let text = format!("{text}{}", args.breakdown.table(report.breakdown.as_ref()));
    let shown = json.write(&report, &text);
    Failure::all([kept.err(), shown.err()].into_iter().flatten()).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// A replay with the settings of the options.
fn replay<F: Follower>(
    args: &AnalyzeArgs,
    outputs: &Outputs,
    follower: F,
) -> Result<Replay<F>, Failure> {
    let mut replay = Replay::new(&args.decode, follower);
    replay.breakdown(args.breakdown.query());
    if let Some(copy) = &args.annotate {
        replay.annotate(copy, outputs);
    }
    replay.tls_keys(&args.tls_keys)?;
    Ok(replay)
}

fn is_same(a: &Path, b: &Path) -> bool {
    let canonical = |path: &Path| std::fs::canonicalize(path).ok();
    canonical(a).is_some_and(|a| canonical(b) == Some(a))
}
