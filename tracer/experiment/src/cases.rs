//! Cases that a run repeats: each wanted middleware with each payload size and each pacing, as far as they go together.

use crate::ab::Variant;
use crate::catalogue::{ALL, Catalogue};
use crate::choice::{self, Choice, Choices};
use crate::pacing::TrialPacing;
use crate::payload::{self, CarriedSizes};
use crate::request::{Measure, RunRequest, WorkloadOptions};
use wirelap_events::human;
use wirelap_process::Failure;
use wirelap_report::Skipped;
use wirelap_session::machine::cpus;

/// Case that a run repeats: a middleware with a payload size and a pacing, as one variant of the request wants it.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// The request of its variant.
    pub request: &'a RunRequest,
    /// The variant under comparison, if any.
    pub variant: Option<Variant>,
    /// The middleware and its broker.
    pub choice: Choice,
    /// The payload size in bytes.
    pub payload: usize,
    /// Times at which messages are sent: the pacing.
    pub pacing: TrialPacing,
    /// True if the run has cases at other rates.
    pub several_rates: bool,
}

/// The cases of a request, and what was left out.
#[derive(Debug, Default)]
pub struct Cases<'a> {
    /// The cases, in the order in which tables show them.
    pub found: Vec<Case<'a>>,
    /// The middlewares and brokers that were left out.
    pub skipped: Vec<Skipped>,
    /// Further omissions, a sentence each.
    pub notes: Vec<String>,
}

/// The cases of a middleware.
pub fn named<'a>(cases: &[Case<'a>], name: &str) -> Vec<Case<'a>> {
    cases.iter().filter(|case| case.choice.about.name == name).cloned().collect()
}

/// All cases of a request or of one variant of it.
///
/// # Errors
/// The request is for a combination that does not exist, or for a middleware that cannot be run.
pub fn cases<'a>(
    request: &'a RunRequest,
    catalogue: &Catalogue,
    variant: Option<Variant>,
) -> Result<Cases<'a>, Failure> {
    check(request)?;
    let pacings = request.pacings();
    let Choices { chosen, skipped } =
        choice::choose(catalogue, &request.on, &request.workloads, pacings[0])?;
    let mut cases = Cases { skipped, ..Cases::default() };
    let is_of_all = request.on.iter().any(|name| name == ALL);
    for choice in chosen {
        let most = choice.about.max_payload;
        let CarriedSizes { sizes, left_out } =
            payload::carried(&request.payload, request.max_payload, most, is_of_all);
        check_workloads(&request.workloads, std::slice::from_ref(&choice), &sizes)?;
        let name = choice.about.name.clone();
        if sizes.is_empty() && !left_out.is_empty() {
            let why = format!("a message has at most {most} bytes of payload");
            cases.skipped.push(Skipped { middleware: name, broker: None, why, remedy: None });
            continue;
        }
        if !left_out.is_empty() {
            cases.notes.push(format!(
                "{name}: payloads above {most} B are left out ({})",
                human::counted(left_out.len() as u64, "size")
            ));
        }
        for (payload, &pacing) in
            sizes.iter().flat_map(|&size| pacings.iter().map(move |pacing| (size, pacing)))
        {
            let (choice, several_rates) = (choice.clone(), pacings.len() > 1 || request.saturation);
            cases.found.push(Case { request, variant, choice, payload, pacing, several_rates });
        }
    }
    cases.notes = unique(&cases.notes);
    if cases.found.is_empty() && !request.on.is_empty() {
        return Err(Failure::Usage(
            "no payload size is left: raise --max-payload, or choose smaller sizes with --payload"
                .into(),
        ));
    }
    Ok(cases)
}

/// The payload sizes in the order in which the user named them.
pub fn in_order(payloads: &[usize], request: &RunRequest) -> Vec<usize> {
    let wanted: Vec<usize> = request.payload.iter().flat_map(|payload| payload.sizes()).collect();
    let place =
        |size: &usize| wanted.iter().position(|other| other == size).unwrap_or(wanted.len());
    let mut payloads = payloads.to_vec();
    payloads.sort_by_key(place);
    payloads
}

/// The list without its later repetitions, in its order.
pub fn unique<T: Clone + PartialEq>(list: &[T]) -> Vec<T> {
    let mut unique: Vec<T> = Vec::new();
    for item in list {
        if !unique.contains(item) {
            unique.push(item.clone());
        }
    }
    unique
}

fn check(request: &RunRequest) -> Result<(), Failure> {
    if request.measure == Measure::Throughput && !request.rates.is_empty() {
        return Err(Failure::Usage(
            "throughput sends messages back to back: remove --rate, or measure `latency --rate`"
                .into(),
        ));
    }
    if request.duration.is_some_and(|time| time.is_zero()) {
        return Err(Failure::Usage("--duration must be longer than 0".into()));
    }
    if request.saturation && request.rates.is_empty() {
        return Err(Failure::Usage(
            "the search for the highest rate begins at the rates of --rate, and there is none"
                .into(),
        ));
    }
    Ok(())
}

/// Checks that two variants send in the same way: otherwise their figures mean different things.
///
/// # Errors
/// One sends at a rate, and the other does not.
pub fn check_comparison(a: &[Case<'_>], b: &[Case<'_>]) -> Result<(), Failure> {
    let (Some(a), Some(b)) = (a.first(), b.first()) else { return Ok(()) };
    if std::mem::discriminant(&a.pacing) == std::mem::discriminant(&b.pacing) {
        return Ok(());
    }
    Err(Failure::Usage(
        "--ab: one side sends at a rate and the other does not: give a rate to both, or to none"
            .into(),
    ))
}

/// Checks that the middlewares support the options and payload sizes, and that the CPUs of `--pin` exist.
///
/// # Errors
/// `Failure::Usage` for the first option that is not supported.
pub fn check_workloads(
    options: &WorkloadOptions,
    chosen: &[Choice],
    payloads: &[usize],
) -> Result<(), Failure> {
    if let Some(cpu) = options.pin.iter().find(|&&cpu| cpu >= cpus()) {
        let last = cpus().saturating_sub(1);
        return Err(Failure::Usage(format!(
            "--pin {cpu}: there is no such CPU; this machine has CPUs 0 to {last}"
        )));
    }
    for Choice { about, .. } in chosen {
        about.transport(options.transport).map_err(Failure::Usage)?;
        let most = about.max_payload;
        if let Some(payload) = payloads.iter().find(|&&payload| payload > most) {
            return Err(Failure::Usage(format!(
                "a message on {} has at most {most} bytes of payload, not {payload}",
                about.name
            )));
        }
    }
    Ok(())
}
