//! The middlewares that can be run here, as `wirelap-workload list` tells them.

use crate::processes::{Installation, not_started};
use std::sync::Arc;
use wirelap_contract::About;
use wirelap_process::Failure;

/// Stands for every middleware, or every broker, that can be run here.
pub const ALL: &str = "all";

/// What can be run, in the order of tables.
#[derive(Clone, Debug)]
pub struct Catalogue(Vec<Arc<About>>);

impl Catalogue {
    /// Asks the workloads' program, as the user that the workloads run as.
    ///
    /// # Errors
    /// It cannot be started, or does not answer.
    pub fn ask(installation: &Installation) -> Result<Catalogue, Failure> {
        let program = &installation.program;
        let said = installation
            .ask("list")
            .map_err(|error| not_started("the workloads' program", program, &error))?;
        let all = serde_json::from_slice::<Vec<About>>(&said).map_err(|error| {
            Failure::Machine(format!(
                "{program} does not tell what it can run ({error}): is it of the same build as wirelap?"
            ))
        })?;
        Ok(Catalogue::of(all))
    }

    /// A catalogue of these.
    pub fn of(all: Vec<About>) -> Catalogue {
        Catalogue(all.into_iter().map(Arc::new).collect())
    }

    /// All of them.
    pub fn all(&self) -> &[Arc<About>] {
        &self.0
    }

    /// The middleware of this name.
    ///
    /// # Errors
    /// There is none; the sentence lists those that there are.
    pub fn find(&self, name: &str) -> Result<&Arc<About>, Failure> {
        self.0.iter().find(|about| about.name == name).ok_or_else(|| {
            let known: Vec<_> = self.0.iter().map(|about| about.name.as_str()).collect();
            let known = known.join(", ");
            Failure::Usage(format!("there is no middleware `{name}`; known: {known}"))
        })
    }

    /// The middlewares that a list of names means, each once, and whether the list says "all": what cannot be run is then left out
    /// instead of being an error.
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
