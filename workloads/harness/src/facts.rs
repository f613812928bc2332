//! Facts about a link that READY tells.

use std::collections::BTreeMap;
use std::fmt;

/// Address of a link, and the versions and settings that it is made with.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The address that it listens on or is connected to.
    pub endpoint: String,
    /// Versions of libraries.
    pub versions: BTreeMap<String, String>,
    /// Settings that bear on the figures.
    pub settings: BTreeMap<String, String>,
}

impl Facts {
    /// Facts about a link at `endpoint`.
    pub fn at(endpoint: impl fmt::Display) -> Facts {
        Facts { endpoint: endpoint.to_string(), ..Facts::default() }
    }

    /// Adds a library's version.
    #[must_use]
    pub fn version(mut self, library: &str, version: &str) -> Facts {
        self.versions.insert(library.into(), version.into());
        self
    }

    /// Adds a setting, by the library's own name.
    #[must_use]
    pub fn setting(mut self, name: &str, value: impl fmt::Display) -> Facts {
        self.settings.insert(name.into(), value.to_string());
        self
    }
}
