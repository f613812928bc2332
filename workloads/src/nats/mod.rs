//! NATS through `nats-server`: `client` (async-nats) for all roles, `server` starts the broker, `stream` is what differs
//! with `JetStream`.

mod client;
mod server;
mod stream;

use crate::control::Control;
use crate::link::{Family, Handler, Link};
use anyhow::{Result, bail};
use wirelap_contract::{About, LinkTransport, Spec};

/// Largest payload: what the server's documentation calls the most that is sensible. Its default is 1 MiB.
const MAX_PAYLOAD: usize = 8 << 20;

const JETSTREAM: &str = "jetstream";
const STORAGE: &str = "storage";
const HTTP_PORT: &str = "http_port";

/// The middleware `nats`.
pub struct Nats;

impl Family for Nats {
    fn about(&self) -> About {
        About::new("nats", "NATS through a server (async-nats)", MAX_PAYLOAD, &[LinkTransport::Tcp])
            .broker(server::PROGRAM, server::availability())
            .setting(
                JETSTREAM,
                false,
                "true: publish into a stream, with acks, and consume in order from it",
            )
            .setting(STORAGE, "memory", "where JetStream keeps messages: memory or file")
            .setting(HTTP_PORT, 0, "port of the server's monitoring pages; 0: none")
    }

    fn open(
        &self,
        spec: &Spec,
        handler: Option<Handler>,
        control: &Control,
    ) -> Result<Box<dyn Link>> {
        client::open(spec, Settings::of(spec)?, handler, control)
    }

    fn serve(&self, spec: &Spec, control: &Control) -> Result<()> {
        match spec.broker.as_deref() {
            None | Some(server::PROGRAM) => server::serve(spec, Settings::of(spec)?, control),
            Some(other) => bail!("--broker {other}: the only known broker is {}", server::PROGRAM),
        }
    }
}

/// What `--set` said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Settings {
    jetstream: bool,
    /// Keep `JetStream`'s messages in files instead of memory.
    on_disk: bool,
    /// 0 for none.
    http_port: u16,
}

impl Settings {
    fn of(spec: &Spec) -> Result<Settings> {
        let mut settings = Settings::default();
        match spec.set_value(JETSTREAM) {
            None | Some("false") => {}
            Some("true") => settings.jetstream = true,
            Some(told) => bail!("--set {JETSTREAM}={told}: true or false"),
        }
        match spec.set_value(STORAGE) {
            None | Some("memory") => {}
            Some("file") => settings.on_disk = true,
            Some(told) => bail!("--set {STORAGE}={told}: memory or file"),
        }
        if let Some(told) = spec.set_value(HTTP_PORT) {
            let port = told.parse();
            settings.http_port =
                port.map_err(|_| anyhow::anyhow!("--set {HTTP_PORT}={told}: 0 to 65535"))?;
        }
        Ok(settings)
    }

    fn storage(self) -> &'static str {
        if self.on_disk { "file" } else { "memory" }
    }
}

/// A topic as a subject: `/` is legal in subjects, but `.` is what separates their tokens.
fn subject(topic: &str) -> String {
    topic.replace('/', ".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::Role;

    fn told(name: &str, value: &str) -> Result<Settings> {
        let set = vec![(name.to_owned(), value.to_owned())];
        Settings::of(&Spec { set, ..Spec::new(Role::Pub, "nats") })
    }

    #[test]
    fn settings_are_understood_or_named() {
        assert!(told(JETSTREAM, "true").unwrap().jetstream);
        assert!(told(STORAGE, "file").unwrap().on_disk);
        assert_eq!(told(HTTP_PORT, "8222").unwrap().http_port, 8222);
        for (name, value) in [(JETSTREAM, "yes"), (STORAGE, "tape"), (HTTP_PORT, "65536")] {
            let sentence = told(name, value).unwrap_err().to_string();
            assert!(sentence.starts_with(&format!("--set {name}={value}: ")), "{sentence}");
        }
    }

    #[test]
    fn topics_become_subjects() {
        assert_eq!(subject("wirelap/data/reply"), "wirelap.data.reply");
    }
}
