//! Writes values: several are on their way at once, and their responses come in order.

use crate::client::{OpcuaSession, WakeMain};
use crate::{WINDOW, WINDOW_SETTING, node, told, variant};
use anyhow::{Result, bail, ensure};
use open62541::ua;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use wirelap_contract::Spec;
use wirelap_harness::control::Control;
use wirelap_harness::link::Outlet;

/// A write whose response has not come.
type PendingWrite = Pin<Box<dyn Future<Output = open62541::Result<()>> + Send>>;

/// The sending half of a link.
pub struct NodeWriter {
    session: OpcuaSession,
    node: ua::NodeId,
    window: usize,
    pending: Mutex<VecDeque<PendingWrite>>,
    control: Control,
    wake_main: Waker,
}

impl NodeWriter {
    /// Writes the variable of `topic`.
    pub fn new(
        session: &OpcuaSession,
        topic: &str,
        spec: &Spec,
        control: &Control,
    ) -> Result<NodeWriter> {
        let window = told(spec, WINDOW_SETTING, WINDOW)?;
        ensure!(window > 0, "--set {WINDOW_SETTING}=0: at least 1");
        Ok(NodeWriter {
            session: session.clone(),
            node: node(topic),
            window,
            pending: Mutex::default(),
            control: control.clone(),
            wake_main: Waker::from(Arc::new(WakeMain(control.clone()))),
        })
    }

    /// Writes that may be on their way at once.
    pub fn window(&self) -> usize {
        self.window
    }

    fn pending(&self) -> MutexGuard<'_, VecDeque<PendingWrite>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request.
    fn begin(&self, payload: &[u8]) -> Result<()> {
        let value = ua::DataValue::new(variant(payload));
        let (session, node) = (self.session.clone(), self.node.clone());
        let mut write: PendingWrite =
            Box::pin(async move { session.client().write_value(&node, &value).await });
        // The first poll sends it.
        match write.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result.map_err(|error| self.session.explain(&error)),
            Poll::Pending => {
                self.pending().push_back(write);
                Ok(())
            }
        }
    }

    /// Takes the responses that have come. Returns how many have not; the next one wakes `waker`.
    fn settle(&self, waker: &Waker) -> Result<usize> {
        let mut pending = self.pending();
        let mut context = Context::from_waker(waker);
        while let Some(first) = pending.front_mut() {
            let Poll::Ready(result) = first.as_mut().poll(&mut context) else { break };
            pending.pop_front();
            result.map_err(|error| self.session.explain(&error))?;
        }
        Ok(pending.len())
    }

    /// True if fewer than `limit` responses are missing. An error is reported to the control.
    fn has_less_than(&self, limit: usize) -> bool {
        match self.settle(&self.wake_main) {
            Ok(left) => left < limit,
            Err(error) => {
                self.control.fail(error);
                false
            }
        }
    }

    /// Waits for all responses.
    pub fn flush(&self, limit: Duration) -> Result<()> {
        if !self.control.wait_for_flush(limit, || self.has_less_than(1))? {
            bail!("{} writes had no response in time", self.pending().len());
        }
        Ok(())
    }
}

impl Outlet for NodeWriter {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        if self.settle(Waker::noop())? >= self.window
            && !self.control.wait_until(None, || self.has_less_than(self.window))?
        {
            bail!("told to stop while waiting for a response");
        }
        self.begin(payload)
    }
}

/// The same from the library's own thread, which must never wait for itself.
pub struct InCallback<'a>(pub &'a NodeWriter);

impl Outlet for InCallback<'_> {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        if self.0.settle(Waker::noop())? >= self.0.window {
            bail!("the server does not keep up with the replies");
        }
        self.0.begin(payload)
    }
}
