//! The thread that all clients of a process share.

use anyhow::{Context, Result, anyhow};
use std::sync::{Mutex, PoisonError};
use std::thread;
use tokio::runtime::{Builder, Handle};

static THREAD: Mutex<Option<Handle>> = Mutex::new(None);

/// Runs a client's event loop in the thread, which is started with the first.
pub fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    handle()?.spawn(work);
    Ok(())
}

/// Waits for what another thread asks of a client.
pub fn wait<T>(work: impl Future<Output = T>) -> Result<T> {
    Ok(handle()?.block_on(work))
}

fn handle() -> Result<Handle> {
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    match &*thread {
        Some(handle) => Ok(handle.clone()),
        None => Ok(thread.insert(start()?).clone()),
    }
}

fn start() -> Result<Handle> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the library's runtime")?;
    let handle = runtime.handle().clone();
    thread::Builder::new()
        .name("rumqttc".into())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))
        .map_err(|error| anyhow!("cannot start a thread: {error}"))?;
    Ok(handle)
}
