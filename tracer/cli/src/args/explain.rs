//! The command line of `wirelap explain`.

use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  sudo wirelap run latency --on mqtt --qos 1 --json out.json && wirelap explain out.json
  wirelap explain before.json after.json --on mqtt/rumqttd
  sudo wirelap live --duration 30s --json - | wirelap explain --worst 10";

/// `wirelap explain`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExplainArgs {
    /// JSON that `run` or `live` has written; - for stdin, which is also read without any
    #[arg(value_name = "FILE|-")]
    pub files: Vec<PathBuf>,

    /// Only these results, by middleware, broker, or both as in mqtt/rumqttd
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub on: Vec<String>,

    /// How many of the slowest messages to tell one by one, ten at most
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub worst: usize,
}
