//! `opcua-write`: the receiver is the server, and its application is called for each write. A `ping` writes one
//! variable and reads another at once, without waiting for the response in between: the server works in order, so
//! what it reads is what the pong made of its write.

use crate::client::OpcuaSession;
use crate::limits::ServerLimits;
use crate::server::{self, RunningServer, variable};
use crate::writer::NodeWriter;
use crate::{about, node, payload, variant};
use anyhow::{Context as _, Result, bail};
use open62541::{
    DataSource, DataSourceReadContext, DataSourceResult, DataSourceWriteContext, DataValue, ua,
};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};
use wirelap_contract::{About, Spec};
use wirelap_harness::clock;
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Facts, Family, Handler, Link, Opened, Outlet, RoleTopics};

/// Longest time that the last reply waits for its reader.
const LAST_READ: Duration = Duration::from_secs(2);

/// The middleware `opcua-write`.
pub struct Direct;

impl Family for Direct {
    fn about(&self) -> About {
        about("opcua-write", "OPC UA, write to and read from the peer (open62541)")
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        let address = link::resolve(&spec.endpoint)?;
        let topics = RoleTopics::of(spec);
        match handler {
            Some(handler) if link::listens(spec.role) => {
                let limits = ServerLimits { publishing_interval_ms: 100.0, queue_size: 1 };
                let shelf = Shelf::default();
                let on_server = shelf.clone();
                let server = server::start(address, limits, control, |server| {
                    let (shelf, RoleTopics { incoming, outgoing, .. }) = (shelf.clone(), topics);
                    if let Some(topic) = outgoing {
                        server.add_data_source_variable_node(variable(&topic), shelf.clone())?;
                    }
                    let inbox = Inbox { handler, shelf };
                    let topic = incoming.context("this role receives nothing")?;
                    server.add_data_source_variable_node(variable(&topic), inbox)?;
                    Ok(())
                })?;
                Ok(Box::new(ServerLink { server, shelf: on_server }))
            }
            handler => {
                let session = OpcuaSession::open(address, "the server")?;
                let topic = topics.outgoing.context("this role sends nothing")?;
                let writer = NodeWriter::new(&session, &topic, spec, control)?;
                let replies = topics.incoming.zip(handler).map(|(topic, handler)| ReplyReader {
                    node: node(&topic),
                    handler: Arc::new(handler),
                    control: control.clone(),
                });
                Ok(Box::new(DirectLink { session, writer, replies, address }))
            }
        }
    }
}

/// The variable that is written: each value is a message.
struct Inbox {
    handler: Handler,
    shelf: Shelf,
}

impl DataSource for Inbox {
    fn read(&mut self, context: &mut DataSourceReadContext) -> DataSourceResult {
        context.set_variant(variant(&[]));
        Ok(())
    }

    fn write(&mut self, context: &mut DataSourceWriteContext) -> DataSourceResult {
        let at = clock::now();
        if let Some(bytes) = context.value().value().and_then(payload) {
            (self.handler)(at, bytes, &self.shelf);
        }
        Ok(())
    }
}

/// The variable that is read: what was published last.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Laid>>);

/// Value on the shelf.
#[derive(Default)]
struct Laid {
    bytes: Vec<u8>,
    /// Nobody has read it yet.
    is_new: bool,
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, Laid> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outlet for Shelf {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        let mut laid = self.lock();
        laid.bytes.clear();
        laid.bytes.extend_from_slice(payload);
        laid.is_new = true;
        Ok(())
    }
}

impl DataSource for Shelf {
    fn read(&mut self, context: &mut DataSourceReadContext) -> DataSourceResult {
        let mut laid = self.lock();
        context.set_variant(variant(&laid.bytes));
        laid.is_new = false;
        Ok(())
    }
}

/// The receiving end.
struct ServerLink {
    server: RunningServer,
    shelf: Shelf,
}

impl Outlet for ServerLink {
    fn publish(&self, _payload: &[u8]) -> Result<()> {
        bail!("a server waits for its clients")
    }
}

impl Link for ServerLink {
    fn facts(&self) -> Facts {
        facts(self.server.address())
    }

    fn poll(&mut self, wait: Duration) -> Result<()> {
        if self.server.has_ended() {
            bail!("the server ended by itself");
        }
        thread::park_timeout(wait);
        Ok(())
    }

    /// A reply leaves when it is read, before the server looks whether it is to stop. A peer that is gone reads none.
    fn flush(&mut self, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit.min(LAST_READ);
        while self.shelf.lock().is_new && Instant::now() < deadline {
            thread::park_timeout(Duration::from_millis(1));
        }
        Ok(())
    }
}

fn facts(address: std::net::SocketAddr) -> Facts {
    Facts::at(address)
        .version("open62541", env!("WIRELAP_OPEN62541"))
        .setting("TCP_NODELAY", true)
        .setting("securityPolicy", "None")
}

/// The sending end.
struct DirectLink {
    session: OpcuaSession,
    writer: NodeWriter,
    /// Replies, if this is a `ping`.
    replies: Option<ReplyReader>,
    address: std::net::SocketAddr,
}

impl Outlet for DirectLink {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        self.writer.publish(payload)?;
        if let Some(replies) = &self.replies {
            replies.read(&self.session);
        }
        Ok(())
    }
}

impl Link for DirectLink {
    fn facts(&self) -> Facts {
        facts(self.address).setting("window", self.writer.window())
    }

    fn poll(&mut self, wait: Duration) -> Result<()> {
        self.session.park(wait)
    }

    fn flush(&mut self, limit: Duration) -> Result<()> {
        self.writer.flush(limit)
    }

    fn close(self: Box<Self>) {
        let DirectLink { session, writer, replies, .. } = *self;
        drop((writer, replies));
        session.close();
    }
}

/// Reads replies.
struct ReplyReader {
    node: ua::NodeId,
    handler: Arc<Handler>,
    control: Control,
}

impl ReplyReader {
    /// Asks for the reply; the handler gets it on the thread that the response comes on.
    fn read(&self, session: &OpcuaSession) {
        let (session, node) = (session.clone(), self.node.clone());
        let future = async move {
            let read = session.client().read_value(&node).await;
            read.map_err(|error| session.explain(&error))
        };
        let reading = PendingRead {
            future: Mutex::new(Some(Box::pin(future))),
            handler: self.handler.clone(),
            control: self.control.clone(),
        };
        Arc::new(reading).go_on();
    }
}

type ReadFuture = Pin<Box<dyn Future<Output = Result<DataValue<ua::Variant>>> + Send>>;

/// A read on its way. It goes on where its response wakes it, which saves the way to another thread.
struct PendingRead {
    future: Mutex<Option<ReadFuture>>,
    handler: Arc<Handler>,
    control: Control,
}

impl Wake for PendingRead {
    fn wake(self: Arc<Self>) {
        self.go_on();
    }
}

impl PendingRead {
    fn go_on(self: Arc<Self>) {
        let waker = Waker::from(self.clone());
        let mut slot = self.future.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(future) = slot.as_mut() else { return };
        let Poll::Ready(read) = future.as_mut().poll(&mut Context::from_waker(&waker)) else {
            return;
        };
        *slot = None;
        drop(slot);
        let at = clock::now();
        match read {
            Ok(value) => {
                if let Some(bytes) = value.value().and_then(payload) {
                    (self.handler)(at, bytes, &Shelf::default());
                }
            }
            Err(error) => self.control.fail(error),
        }
    }
}
