//! The embedded server and its thread.

use crate::limits::ServerLimits;
use crate::node;
use anyhow::{Context, Result, anyhow, bail};
use open62541::{Server, ServerBuilder, ServerRunner, VariableNode, ua};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wirelap_harness::control::Control;
use wirelap_harness::{daemon, own_sockets};

const START_LIMIT: Duration = Duration::from_secs(10);
/// The folder of all objects, the reference to what is in a folder, the type of plain variables, and the type of
/// their values (OPC 10000-6, annex A).
const OBJECTS_FOLDER: u32 = 85;
const ORGANIZES: u32 = 35;
const BASE_DATA_VARIABLE: u32 = 63;
const BYTE_STRING: u32 = 15;

/// A server that runs. Stopped when dropped.
pub struct RunningServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<open62541::Result<()>>>,
}

/// Starts a server, with the variables that `furnish` gives it.
pub fn start(
    address: SocketAddr,
    limits: ServerLimits,
    control: &Control,
    furnish: impl FnOnce(&Server) -> Result<()>,
) -> Result<RunningServer> {
    // It would go on without a port that is in use.
    let address = daemon::choose(address)?;
    let url = format!("opc.tcp://{address}");
    let (server, runner) = ServerBuilder::minimal(address.port(), None)
        .server_urls(&[&url])
        .access_control(limits)
        .context("cannot set up the server")?
        .build();
    furnish(&server)?;
    let running = run(address, runner, control)?;
    control.wait_or(
        START_LIMIT,
        || running.has_ended() || listens(address),
        || anyhow!("the server did not listen on {address} within {} s", START_LIMIT.as_secs()),
    )?;
    if running.has_ended() {
        bail!("the server could not listen on {address}");
    }
    Ok(running)
}

fn run(address: SocketAddr, runner: ServerRunner, control: &Control) -> Result<RunningServer> {
    let stop = Arc::new(AtomicBool::new(false));
    let (asked, control) = (stop.clone(), control.clone());
    let body = move || {
        let result = runner.run_until_cancelled(|| asked.load(Ordering::Acquire));
        control.wake();
        result
    };
    let thread = thread::Builder::new().name("open62541".into()).spawn(body)?;
    Ok(RunningServer { address, stop, thread: Some(thread) })
}

fn listens(address: SocketAddr) -> bool {
    own_sockets::listening().is_ok_and(|all| all.iter().any(|w| w.address == address))
}

impl RunningServer {
    /// Address at which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// True if the server has ended.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // Idle, it looks every half second.
            let _ = thread.join();
        }
    }
}

/// A variable that holds messages.
pub fn variable(topic: &str) -> VariableNode {
    let access = ua::AccessLevelType::NONE.with_current_read(true).with_current_write(true);
    VariableNode {
        requested_new_node_id: Some(node(topic)),
        parent_node_id: ua::NodeId::ns0(OBJECTS_FOLDER),
        reference_type_id: ua::NodeId::ns0(ORGANIZES),
        browse_name: ua::QualifiedName::new(1, topic),
        type_definition: ua::NodeId::ns0(BASE_DATA_VARIABLE),
        attributes: ua::VariableAttributes::default()
            .with_data_type(&ua::NodeId::ns0(BYTE_STRING))
            .with_access_level(&access),
    }
}
