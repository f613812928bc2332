//! The roles, written once for all middlewares.

mod connect;
mod handles;
mod ping;
mod pong;
mod publish;
mod run;
mod subscribe;

use crate::log::SharedLog;
use anyhow::Result;
use run::Run;
use wirelap_contract::{Role, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::link::Family;

/// Plays `spec.role` until it is done or told to stop, and prints DONE. The truth file is written in any case.
pub fn drive(spec: &Spec, family: &dyn Family, control: &Control) -> Result<()> {
    let log = SharedLog::create(spec)?;
    let run = Run { spec, family, control, log: &log };
    let result = match spec.role {
        Role::Pub => match spec.topology.handles {
            Some(handles) => handles::run(&run, handles),
            None => publish::run(&run),
        },
        Role::Connect => connect::run(&run),
        Role::Sub => subscribe::run(&run),
        Role::Ping => ping::run(&run),
        Role::Pong | Role::Broker => pong::run(&run),
    };
    let written = log.write_truth();
    control.excuse(result)?;
    written?;
    log.say_done()
}
