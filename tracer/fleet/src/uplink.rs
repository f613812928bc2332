//! The connection to a router, and why there is none.

use crate::connections;
use crate::envelope::Envelope;
use crate::keys::{self, Keys};
use clap::Args;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use wirelap_events::Nanos;
use zenoh::bytes::ZBytes;
use zenoh::liveliness::LivelinessToken;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::sample::{Sample, SampleKind};
use zenoh::{Config, Session, Wait};

/// Time in which a host must accept a connection, when it is tried why there is none.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// Time in microseconds for which a frame waits in Zenoh before Zenoh drops it. While it waits, those behind it wait here, where the
/// oldest are dropped first.
const WAIT_BEFORE_DROP: &str = "1000000";

/// A fleet and how it is reached.
#[derive(Clone, Debug, Args)]
pub struct FleetArgs {
    /// The fleet's name
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = keys::name)]
    pub fleet: String,

    /// Zenoh's configuration (JSON5): certificates, name and password. Without a mode in it, this is a client
    #[arg(long, value_name = "FILE")]
    pub zenoh_config: Option<PathBuf>,
}

/// The urgency of what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Questions and their answers, which tell how clocks differ.
    Now,
    /// Observations, behind what applications send through the same router.
    Later,
}

/// Zenoh's settings.
///
/// # Errors
/// A sentence that says what is wrong with the file or the locator.
pub fn config(
    file: Option<&Path>,
    mode: &str,
    (key, locator): (&str, &str),
) -> Result<Config, String> {
    let mut config = match file {
        Some(file) => Config::from_file(file)
            .map_err(|error| format!("{} is no configuration of Zenoh: {error}", file.display()))?,
        None => Config::default(),
    };
    let mut set = |key: &str, value: &str| {
        let set = config.insert_json5(key, value);
        set.map_err(|error| format!("Zenoh does not take {key} = {value}: {error}"))
    };
    set(key, &format!("[{locator:?}]"))?;
    if file.is_none() {
        set("scouting/multicast/enabled", "false")?;
        set("scouting/gossip/enabled", "false")?;
    }
    let drop = "transport/link/tx/queue/congestion_control/drop";
    if mode == "client" {
        set(&format!("{drop}/wait_before_drop"), WAIT_BEFORE_DROP)?;
        set(&format!("{drop}/max_wait_before_drop_fragments"), WAIT_BEFORE_DROP)?;
    }
    if config.get_json("mode").is_ok_and(|mode| mode == "null") {
        let set = config.insert_json5("mode", &format!("{mode:?}"));
        set.map_err(|error| format!("Zenoh does not take the mode {mode}: {error}"))?;
    }
    Ok(config)
}

/// The connection to a router.
pub struct Uplink {
    pub session: Session,
    pub keys: Keys,
    /// Identity of this connection.
    pub id: String,
    /// Tokens that are there as long as this connection.
    tokens: Mutex<Vec<LivelinessToken>>,
}

impl Uplink {
    /// Connects to a router, and tells everybody which connection carries what is sent.
    ///
    /// # Errors
    /// A sentence that says why that is not possible.
    pub fn open(config: Config, locator: &str, fleet: &str) -> Result<Uplink, String> {
        let session = zenoh::open(config).wait().map_err(|error| explain(locator, &error))?;
        let (keys, id) = (Keys::new(fleet), session.zid().to_string());
        let uplink = Uplink { session, keys, id, tokens: Mutex::default() };
        for connection in connections::own() {
            uplink.be_alive(&uplink.keys.carrier(&uplink.id, connection))?;
        }
        Ok(uplink)
    }

    /// Declares a token.
    ///
    /// # Errors
    /// A sentence that says why that is not possible.
    pub fn be_alive(&self, key: &str) -> Result<(), String> {
        let token = self.session.liveliness().declare_token(key).wait();
        let token = token.map_err(|error| failed(&error))?;
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).push(token);
        Ok(())
    }

    /// Calls back for each token of such a key that is there, comes or goes: with true unless it goes.
    ///
    /// # Errors
    /// A sentence that says why that is not possible.
    pub fn watch(
        &self,
        key: &str,
        called: impl Fn(&str, bool) + Send + Sync + 'static,
    ) -> Result<(), String> {
        let called = move |sample: Sample| {
            called(sample.key_expr().as_str(), sample.kind() == SampleKind::Put);
        };
        let tokens = self.session.liveliness().declare_subscriber(key).history(true);
        tokens.callback(called).background().wait().map_err(|error| failed(&error))
    }

    /// Calls back for everything that is sent with such a key.
    ///
    /// # Errors
    /// A sentence that says why that is not possible.
    pub fn listen(
        &self,
        key: &str,
        called: impl Fn(&str, &[u8]) + Send + Sync + 'static,
    ) -> Result<(), String> {
        let called = move |sample: Sample| {
            called(sample.key_expr().as_str(), &sample.payload().to_bytes());
        };
        let subscriber = self.session.declare_subscriber(key).callback(called);
        subscriber.background().wait().map_err(|error| failed(&error))
    }

    /// True while there is a router, or a peer in place of one.
    pub fn is_up(&self) -> bool {
        let info = self.session.info();
        info.routers_zid().wait().next().is_some() || info.peers_zid().wait().next().is_some()
    }

    /// Ends the connection. What waits to be sent is sent before.
    pub fn close(self) {
        drop(self.tokens);
        let _ = self.session.close().wait();
    }
}

impl Uplink {
    /// Sends what one collector alone has asked for.
    pub fn reply(&self, host: &str, collector: &str, envelope: Envelope<'_>) {
        send(&self.session, &self.keys.reply(host, collector), envelope.bytes(), Urgency::Now);
    }
}

/// The monotonic clock of this host, which is that of its events.
pub fn now() -> Nanos {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let part = |value: i64| u64::try_from(value).unwrap_or_default();
    Nanos(part(now.tv_sec).saturating_mul(1_000_000_000).saturating_add(part(now.tv_nsec)))
}

/// Sends bytes, or drops them if a router takes none for a while.
pub fn send(session: &Session, key: &str, bytes: impl Into<ZBytes>, urgency: Urgency) {
    let priority = match urgency {
        Urgency::Now => Priority::InteractiveHigh,
        Urgency::Later => Priority::DataLow,
    };
    let put = session.put(key, bytes).congestion_control(CongestionControl::Drop);
    // Without a router, nobody is there who misses it.
    let _ = put.priority(priority).express(urgency == Urgency::Now).wait();
}

fn failed(error: &zenoh::Error) -> String {
    format!("the connection to the router failed: {error}")
}

/// Why there is no connection to a router. Zenoh's own words are a chain of source locations.
fn explain(locator: &str, error: &zenoh::Error) -> String {
    let address = locator.split_once('/').map_or(locator, |(_, address)| address);
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let Ok(mut addresses) = address.to_socket_addrs() else {
        return format!(
            "{locator} cannot be reached: check the name (a locator is tcp/HOST:PORT or tls/HOST:PORT)"
        );
    };
    let Some(address) = addresses.next() else { return format!("{locator} has no address") };
    match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            format!("nobody listens on {locator}: start the router there")
        }
        Err(error) => format!("{locator} cannot be reached: {error}"),
        Ok(_) => format!(
            "{locator} does not let this program in: check certificates, name and password in the file of --zenoh-config ({})",
            last_reason(&error.to_string())
        ),
    }
}

/// The reason in an error of Zenoh, without the places in its source where it was passed on.
fn last_reason(error: &str) -> String {
    let lines = error.lines().next().unwrap_or_default();
    let words = lines.split(" at /").next().unwrap_or_default();
    words.chars().filter(|c| !c.is_control()).take(200).collect()
}
