//! The options of hosts of their own.

use crate::quantity;
use clap::Args;
use std::time::Duration;
use wirelap_experiment::scenario::ScenarioSettings;

/// Hosts of their own for the processes of a run.
#[derive(Clone, Debug, Args)]
pub struct HostArgs {
    /// Run publisher, broker and subscriber on hosts of their own: network namespaces, joined by a switch, that are removed at
    /// the end. Needs root and iproute2 [default: true with --link-…]
    #[arg(
        id = "own_hosts",
        long = "hosts",
        value_name = "BOOL",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true
    )]
    pub hosts: Option<bool>,

    /// How fast each host can send: 1Gbit, 100Mbit [default: as fast as memory]
    #[arg(long, value_name = "RATE", value_parser = quantity::bit_rate)]
    pub link_rate: Option<u64>,

    /// The bytes that wait at most before a link with a rate; further frames are dropped [default: 256K]
    #[arg(long, value_name = "BYTES", value_parser = quantity::bytes)]
    pub link_queue: Option<u64>,

    /// How much later frames arrive at each host; needs a kernel with netem [default: none]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub link_delay: Option<Duration>,
}

impl HostArgs {
    /// The settings with those that the options give.
    pub fn add_to(&self, settings: ScenarioSettings) -> ScenarioSettings {
        ScenarioSettings {
            hosts: self.hosts,
            link_rate: self.link_rate,
            link_queue: self.link_queue,
            link_delay: self.link_delay,
            ..settings
        }
    }
}
