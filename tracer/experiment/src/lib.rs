//! Middlewares measured against each other with workloads of our own: what runs, in which order, and what came of it. No
//! command line: a [`Request`] says what is wanted.
//!
//! | module | what |
//! |---|---|
//! | [`Request`] | what a run is asked to do |
//! | [`Catalogue`], [`Choices`] | what can be run here, and what of it is meant |
//! | [`Plan`], [`Trial`], [`Pacing`] | the trials of a run in their order, one of them, and when it sends |
//! | `processes` | workload processes: as a group, and a single one |
//! | [`WorkloadProcesses`] | the processes of one middleware |
//! | `measure`, `cost` | a trial that is run, and once more for what tracing costs |
//! | `tally`, `ground_truth` | what the deliveries add up to, and whether the workloads agree |
//! | `results` | outcomes of trials pooled |
//! | [`run()`] | all of it |

// What comes from a file or a packet may be any number.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]
// They panic where stdout or stderr cannot be written, and wait for whoever reads there: `output` does neither.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod catalogue;
mod choice;
mod cost;
mod ground_truth;
mod measure;
mod pacing;
mod plan;
mod processes;
mod progress;
mod request;
mod results;
mod run;
mod tally;
mod trial;
mod workload_processes;

pub use catalogue::Catalogue;
pub use choice::{Choice, Choices, choose};
pub use pacing::Pacing;
pub use plan::{MAX_SEED, Plan, check_workloads, plan, random_domain, unique};
pub use processes::{Installation, Trouble};
pub use request::{Measure, Request, TruthCheck, Workloads};
pub use run::{Ended, run};
pub use trial::Trial;
pub use workload_processes::WorkloadProcesses;
