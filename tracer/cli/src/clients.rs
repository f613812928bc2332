//! The clients of `wirelap run`: how many there are, and on which topics.

use clap::Args;
use wirelap_contract::{Handles, SubscribedTopics};

/// How many clients there are, and on which topics.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Clients")]
pub struct ClientArgs {
    /// Publishers, each with a connection of its own; they send in turn, and a rate is that of all together [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub publishers: Option<u32>,

    /// Subscribers, each with a connection of its own [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub subscribers: Option<u32>,

    /// Topics, at most as many as publishers: publisher 1 has topic 1, and so on, and again from the first [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub topics: Option<u32>,

    /// Connections that the scenario `mqtt-connections` opens, --rate of them a second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: Option<u32>,

    /// The topics of a subscriber: one of its own, all, or all shared with the other subscribers, so that each message goes to
    /// one of them [default: own]
    #[arg(long, value_enum, value_name = "WHICH")]
    pub subscription: Option<SubscribedTopics>,

    /// Publish from a thread for each publisher, each with a connection of its own, or all with one behind a mutex
    #[arg(long, value_enum, value_name = "WHOSE")]
    pub handles: Option<Handles>,

    /// Reduce clients, topics and rates in proportion to what this machine can hold
    #[arg(long)]
    pub fit_clients: bool,
}
