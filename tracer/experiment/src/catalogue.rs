//! The middlewares that wirelap can run, as `wirelap-workload list` reports them.

use crate::processes::{WorkloadInstallation, not_started};
use std::sync::Arc;
use wirelap_contract::About;
use wirelap_process::Failure;

/// The word of `--on` and `--broker` that means every middleware, or every broker, that can be run on this machine.
pub const ALL: &str = "all";

/// The known middlewares, in the order in which tables show them.
#[derive(Clone, Debug)]
pub struct Catalogue(Vec<Arc<About>>);

impl Catalogue {
    /// Reads the catalogue from the workloads' program, which runs as the workloads' user.
    ///
    /// # Errors
    /// The program cannot be started, or its output cannot be parsed.
    pub fn read(installation: &WorkloadInstallation) -> Result<Catalogue, Failure> {
        let program = &installation.program;
        let list = installation
            .output_of("list")
            .map_err(|error| not_started("the workloads' program", program, &error))?;
        let all = serde_json::from_slice::<Vec<About>>(&list).map_err(|error| {
            Failure::Machine(format!(
                "the output of `{program} list` cannot be read ({error}): check that it is of the same build as wirelap"
            ))
        })?;
        Ok(Catalogue::of(all))
    }

    /// A catalogue of these middlewares.
    pub fn of(all: Vec<About>) -> Catalogue {
        Catalogue(all.into_iter().map(Arc::new).collect())
    }

    /// All middlewares.
    pub fn all(&self) -> &[Arc<About>] {
        &self.0
    }

    /// The middleware of this name.
    ///
    /// # Errors
    /// There is no such middleware; the message lists the known ones.
    pub fn find(&self, name: &str) -> Result<&Arc<About>, Failure> {
        self.0.iter().find(|about| about.name == name).ok_or_else(|| {
            let known: Vec<_> = self.0.iter().map(|about| about.name.as_str()).collect();
            let known = known.join(", ");
            Failure::Usage(format!("there is no middleware `{name}`; known: {known}"))
        })
    }

    /// The middlewares that a list of names means, each once, and whether the list contains `all`: a middleware that cannot be
    /// run is then left out and is not an error.
    ///
    /// # Errors
    /// A name is not known.
    pub fn choose(&self, names: &[String]) -> Result<(Vec<Arc<About>>, bool), Failure> {
        if names.iter().any(|name| name == ALL) {
            return Ok((self.0.clone(), true));
        }
        let mut chosen: Vec<Arc<About>> = Vec::new();
        for name in names {
            let found = self.find(name)?;
            if !chosen.iter().any(|about| about.name == found.name) {
                chosen.push(Arc::clone(found));
            }
        }
        Ok((chosen, false))
    }
}
