//! Settings of client and server.

use anyhow::{Result, bail};
use wirelap_contract::Spec;

/// Largest payload: what the server's documentation calls the most that is sensible. Its default is 1 MiB.
pub const MAX_PAYLOAD: usize = 8 << 20;

pub const JETSTREAM: &str = "jetstream";
pub const STORAGE: &str = "storage";
pub const HTTP_PORT: &str = "http_port";

/// Settings of `--set`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NatsSettings {
    pub jetstream: bool,
    /// Keep `JetStream`'s messages in files instead of memory.
    pub on_disk: bool,
    /// 0 for none.
    pub http_port: u16,
}

impl NatsSettings {
    pub fn of(spec: &Spec) -> Result<NatsSettings> {
        let mut settings = NatsSettings::default();
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

    pub fn storage(self) -> &'static str {
        if self.on_disk { "file" } else { "memory" }
    }
}

/// A topic as a subject: `/` is legal in subjects, but `.` is what separates their tokens.
pub fn subject(topic: &str) -> String {
    topic.replace('/', ".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::Role;

    fn told(name: &str, value: &str) -> Result<NatsSettings> {
        let set = vec![(name.to_owned(), value.to_owned())];
        NatsSettings::of(&Spec { set, ..Spec::new(Role::Pub, "nats") })
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
