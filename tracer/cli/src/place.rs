//! The options by which the roles of a run are placed on other hosts.

use crate::agents::{Agents, HostArgs};
use crate::common::{DetailArg, FilterArgs, TracedWorkloadArgs};
use clap::Args;
use std::sync::Arc;
use wirelap_experiment::{
    Installations, Placement, PlacementMeans, Plan, RolePlace, RunRequest, WorkloadInstallation,
    traced_ports,
};
use wirelap_process::Failure;
use wirelap_process::steward::{Steward, StewardRole};
use wirelap_session::preflight;

/// Roles on other hosts.
#[derive(Clone, Debug, Default, Args)]
pub struct PlaceArgs {
    /// Run these roles on hosts of --host and --via: publisher=robot,broker=hub,subscriber=here; those that are not named run here, and a broker
    /// beside the subscriber.
    /// `broker=hub/10.0.0.9` also says at which address the others reach it. wirelap-workload of the same version must be in the PATH
    /// there, or is copied with --push
    #[arg(long, value_name = "ROLE=HOST,…", value_delimiter = ',')]
    pub place: Vec<RolePlace>,

    /// Other hosts.
    #[command(flatten)]
    pub hosts: HostArgs,
}

impl PlaceArgs {
    /// True if roles are placed.
    pub fn are_given(&self) -> bool {
        !self.place.is_empty()
    }

    /// The task of the steward of a run.
    pub fn steward_role(&self) -> StewardRole {
        if self.are_given() { StewardRole::Hosts } else { StewardRole::Workloads }
    }

    /// Checks that the options go together.
    ///
    /// # Errors
    /// They do not.
    pub fn check(&self, request: &RunRequest) -> Result<(), Failure> {
        let is_of_links = |request: &RunRequest| request.workloads.links.is_some();
        let mut variants = request.ab.iter().flat_map(|comparison| &comparison.variants);
        let wrong = if !self.are_given() {
            self.hosts.are_given().then_some(
                "--host and --via name hosts for --place: say what runs there, as in --place broker=HOST",
            )
        } else if self.hosts.host_bandwidth.is_some() {
            Some(
                "--host-bandwidth is for live and record: a run samples with --sample, such as 50ms/500ms",
            )
        } else if is_of_links(request) || variants.any(is_of_links) {
            Some("--place has hosts that exist, and --hosts makes some: remove one of both")
        } else {
            None
        };
        wrong.map_or(Ok(()), |why| Err(Failure::Usage(why.into())))
    }

    /// Asks the hosts what they are.
    ///
    /// # Errors
    /// A host cannot be reached, or has no program of this version; or a role is here, and this host cannot be observed.
    pub fn open(
        &self,
        steward: &Arc<Steward>,
        own: Result<WorkloadInstallation, Failure>,
    ) -> Result<Placement, Failure> {
        let targets: Vec<_> = self.hosts.others().collect();
        let means = PlacementMeans {
            steward,
            own,
            targets: &targets,
            agents: self.hosts.targets().len(),
            push: self.hosts.push,
        };
        let placement = Placement::open(&self.place, means)?;
        if placement.is_here() {
            preflight()?;
            if self.hosts.not_here {
                return Err(Failure::Usage(
                    "--not-here does not observe this host, and a role runs on it: place all of them on others".into(),
                ));
            }
        }
        Ok(placement)
    }

    /// The agents that observe the hosts, if roles are placed. Call it before rights are given up.
    ///
    /// # Errors
    /// The steward has ended, or there are too many hosts.
    pub fn agents(
        &self,
        (steward, installations): (&Arc<Steward>, &Installations),
        plan: &Plan,
        traced: &TracedWorkloadArgs,
    ) -> Result<Option<Agents>, Failure> {
        let Some(placement) = installations.placement() else { return Ok(None) };
        let filter = FilterArgs { ports: traced_ports(plan), ..FilterArgs::default() };
        let (steward, detail) = (Arc::clone(steward), DetailArg::Full);
        let commands = placement.commands();
        self.hosts.prepare(steward, &filter, detail, &traced.tracer, commands).map(Some)
    }
}
