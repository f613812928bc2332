//! `wirelap agent`: observes this host for a wirelap on another one, which has started it.

use crate::common::{DetailArg, FilterArgs, PacketArgs, TracerArgs};
use clap::Args;
use std::io::IsTerminal;
use std::process::ExitCode;
use wirelap_process::{Failure, catch_signals};
use wirelap_session::{AgentSettings, preflight_of, run_agent};

const ABOUT: &str = "\
`wirelap live --host ROBOT` and `wirelap record --host ROBOT` start it by ssh, or by the command of --via. It writes what it observes to
stdout, compressed and with as many bytes of each packet as --snap says, and ends when its stdin ends. It opens no port and writes no
file.";

/// `wirelap agent`.
#[derive(Clone, Debug, Args)]
#[command(after_help = ABOUT)]
pub struct AgentArgs {
    /// How much is observed of a message's way
    #[arg(long, value_enum, value_name = "DETAIL", default_value = "full")]
    pub detail: DetailArg,

    /// Remove the file of this program: it was copied here for this run alone
    #[arg(long, hide = true)]
    pub remove_program: bool,

    /// Which traffic is traced.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Packets in place of probes.
    #[command(flatten)]
    pub packets: PacketArgs,

    /// The options of the tracer.
    #[command(flatten, next_help_heading = "Tracer")]
    pub tracer: TracerArgs,
}

/// Observes until stdin ends, or a signal arrives.
///
/// # Errors
/// The probes cannot be attached.
pub fn run(args: &AgentArgs) -> Result<ExitCode, Failure> {
    if std::io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "an agent writes what another wirelap reads: start `wirelap live --host HOST` on the other host, which starts it".into(),
        ));
    }
    if args.remove_program {
        let _ = std::env::current_exe().and_then(std::fs::remove_file);
    }
    let view = args.packets.view(args.filter.needs_probes());
    preflight_of(&view)?;
    let mut capture = args.filter.capture_config(&args.tracer);
    capture.detail = args.detail.into();
    PacketArgs::confine(&view);
    let signals = catch_signals()?;
    run_agent(&AgentSettings { capture, view }, &signals)?;
    Ok(ExitCode::SUCCESS)
}
