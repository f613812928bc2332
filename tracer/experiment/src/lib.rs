//! Measures middlewares against each other with wirelap's own workloads: plans the trials, runs them in order, and pools their
//! results. This crate knows no command line: a [`RunRequest`] describes the wanted run.
//!
//! | module | what |
//! |---|---|
//! | [`RunRequest`] | the wanted run |
//! | [`Catalogue`], [`Choices`] | the known middlewares, and those to run |
//! | `cases` | what a run repeats: middlewares with payload sizes and rates |
//! | `broker` | the broker of a trial |
//! | `clients` | how many clients this machine can hold |
//! | [`Plan`], [`Trial`], [`TrialPacing`] | the trials of a run in order, one trial, and when it sends |
//! | [`Links`], [`Installations`] | hosts of their own for the processes, and the links between them |
//! | [`Placement`], `host_numbers` | other hosts for the processes, and their numbers in the trace |
//! | `processes` | the process group of a trial, and a single workload process |
//! | [`WorkloadProcesses`] | the processes of one middleware |
//! | `measure`, `cost` | runs a trial, and measures what tracing costs its workload |
//! | [`ClientSizes`] | the sizes of client programs, which `make footprint` measures |
//! | `machine_state` | how fast the machine itself is, before and during a trial |
//! | `median` | the median of measured values |
//! | `tally`, `ground_truth` | sums of a trial's deliveries, and their comparison with the workloads' records |
//! | [`SampleSink`] | who takes the deliveries one by one |
//! | `results` | the records of trials, and the results that they are pooled to |
//! | [`run()`], `series`, `queue` | runs a plan, its trials in order, and knows which of them are left |
//! | [`Earlier`] | a run that was interrupted, and whether a run can go on with it |
//! | `saturation` | the search for the highest rate that is reached |
//! | [`PayloadSizes`], [`quantity`] | payload sizes, and the parsers of quantities |
//! | [`scenario`] | scenarios: built in, and in files |
//! | `ab` | which trial is of which variant, and in which order |
//! | `summary` | the report of a run, and its failures in words |

// Numbers from a file or a packet can have any value, so arithmetic must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]
// `print!` panics when stdout cannot be written and blocks when nobody reads; `wirelap_process::output` does neither.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod ab;
mod broker;
mod cases;
mod catalogue;
mod choice;
mod client_sizes;
mod clients;
mod context;
mod cost;
mod ground_truth;
mod host_numbers;
mod hosts;
mod kept_times;
mod machine_state;
mod measure;
mod median;
mod pacing;
mod payload;
mod placement;
mod plan;
mod processes;
mod progress;
pub mod quantity;
mod queue;
mod request;
mod results;
mod resume;
mod run;
mod samples;
mod saturation;
pub mod scenario;
mod series;
mod summary;
mod tally;
mod trial;
mod turns;
mod workload_processes;

pub use cases::{check_workloads, unique};
pub use catalogue::Catalogue;
pub use choice::{Choice, Choices, choose, settings as settings_of};
pub use client_sizes::ClientSizes;
pub use context::StartAgents;
pub use hosts::{Installations, Links};
pub use pacing::TrialPacing;
pub use payload::PayloadSizes;
pub use placement::{Placement, PlacementMeans, RolePlace, traced_ports};
pub use plan::{MAX_SEED, Plan, plan, random_domain};
pub use processes::{TrialStopped, WorkloadInstallation};
pub use request::{Measure, RunRequest, TruthCheck, VariantComparison, WorkloadOptions};
pub use resume::{Earlier, seeded};
pub use run::{FinishedRun, run};
pub use samples::{SampleSink, SharedSamples};
pub use series::RunResources;
pub use trial::Trial;
pub use workload_processes::WorkloadProcesses;
