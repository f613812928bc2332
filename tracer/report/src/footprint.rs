//! The cost of a middleware for its processes: memory and CPU time, idle and busy, and the size of a client program.

use crate::process::ClientSize;
use crate::{ProcessUse, Repetition, RunResult, human};
use wirelap_events::human::column::cpu;

/// CPU and memory of the process of one role, connected and idle and while messages were sent: the mean CPU share and the
/// largest memory of the repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleBusy {
    /// `pub`, `sub`, `ping`, `pong` or `broker`.
    pub role: String,
    /// The name of the process.
    pub name: String,
    /// CPU share, idle.
    pub idle_cpu: f64,
    /// Resident bytes, idle.
    pub idle_rss: u64,
    /// CPU share while messages were sent; `None` if it is not known.
    pub busy_cpu: Option<f64>,
    /// Resident bytes while messages were sent; `None` if they are not known.
    pub busy_rss: Option<u64>,
}

/// CPU and memory of the processes in whole repetitions, in the order of their start; empty unless the idle processes were measured.
pub fn idle_and_busy(result: &RunResult) -> Vec<IdleBusy> {
    let whole = || result.repetitions.iter().filter(|one| !one.partial);
    let mut roles: Vec<(&str, usize)> = Vec::new();
    for place in whole().flat_map(places) {
        if !roles.contains(&place) {
            roles.push(place);
        }
    }
    let of = |(role, number): (&str, usize)| {
        let all = || whole().filter_map(|one| process(one, role, number));
        let idle = || all().filter_map(|one| one.idle);
        Some(IdleBusy {
            role: role.to_owned(),
            name: all().next()?.name.clone(),
            idle_cpu: mean(idle().map(|idle| idle.cpu_share))?,
            idle_rss: idle().map(|idle| idle.rss_bytes).max()?,
            busy_cpu: mean(all().filter_map(|one| one.cpu_share)),
            busy_rss: all().filter_map(|one| one.rss_bytes).max(),
        })
    };
    roles.into_iter().filter_map(of).collect()
}

/// The role of each process of a repetition, and its number among those of this role.
fn places(repetition: &Repetition) -> impl Iterator<Item = (&str, usize)> {
    let roles = || repetition.processes.iter().map(|one| one.role.as_str());
    roles()
        .enumerate()
        .map(move |(at, role)| (role, roles().take(at).filter(|other| *other == role).count()))
}

/// A process of a repetition by its role, and its number among those of this role.
fn process<'a>(repetition: &'a Repetition, role: &str, number: usize) -> Option<&'a ProcessUse> {
    repetition.processes.iter().filter(|one| one.role == role).nth(number)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) =
        values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count.saturating_add(1)));
    (count > 0).then(|| sum / f64::from(count))
}

/// A CPU share in percents, one of less than 1 % with three digits behind the point: an idle process uses little.
pub fn share(share: f64) -> String {
    if (0.0..0.01).contains(&share) { format!("{:.3} %", share * 100.0) } else { cpu(share) }
}

/// CPU share and memory: `0.042 %, 5.2 MiB`.
fn used(cpu_share: Option<f64>, bytes: Option<u64>) -> String {
    let share = cpu_share.map_or_else(|| human::NONE.to_owned(), share);
    let bytes = bytes.map_or_else(|| human::NONE.to_owned(), |bytes| human::bytes(bytes as f64));
    format!("{share}, {bytes}")
}

/// CPU and memory of the processes in one line; `None` unless the idle processes were measured.
pub fn line(result: &RunResult) -> Option<String> {
    let parts: Vec<String> = idle_and_busy(result)
        .iter()
        .map(|one| {
            let idle = used(Some(one.idle_cpu), Some(one.idle_rss));
            format!("{} idle {idle}, busy {}", one.role, used(one.busy_cpu, one.busy_rss))
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// The size of a client program in words; `None` if it is not known.
pub fn size(result: &RunResult) -> Option<String> {
    let ClientSize { bytes, without_middleware_bytes, .. } = result.client_size.as_ref()?;
    let more = bytes.saturating_sub(*without_middleware_bytes);
    Some(format!(
        "{}, of which {} are more than without a middleware",
        human::bytes(*bytes as f64),
        human::bytes(more as f64)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IdleUse;

    #[test]
    fn repetitions_are_averaged_and_their_largest_memory_counts() {
        let use_of = |cpu: f64, mib: u64| ProcessUse {
            role: "sub".into(),
            name: "x".into(),
            cpu_share: Some(cpu * 10.0),
            rss_bytes: Some(mib << 21),
            idle: Some(IdleUse { seconds: 5.0, cpu_share: cpu, rss_bytes: mib << 20 }),
            ..ProcessUse::default()
        };
        let repetition =
            |cpu, mib| Repetition { processes: vec![use_of(cpu, mib)], ..Repetition::default() };
        let mut result = RunResult {
            repetitions: vec![repetition(0.01, 4), repetition(0.03, 3)],
            ..RunResult::default()
        };
        let found = idle_and_busy(&result);
        assert_eq!(
            (found.len(), found[0].idle_rss, found[0].busy_rss),
            (1, 4 << 20, Some(8 << 20))
        );
        assert!((found[0].idle_cpu - 0.02).abs() < 1e-9);
        assert!(line(&result).unwrap().starts_with("sub idle 2.0 %, "), "{:?}", line(&result));
        assert_eq!(share(0.000_419), "0.042 %");
        result.repetitions.iter_mut().for_each(|one| one.processes[0].idle = None);
        assert_eq!(line(&result), None);
    }

    #[test]
    fn what_the_middleware_adds_to_the_program_is_told() {
        let client_size = Some(ClientSize {
            bytes: 3 << 20,
            without_middleware_bytes: 1 << 20,
            build: String::new(),
        });
        let result = RunResult { client_size, ..RunResult::default() };
        assert_eq!(
            size(&result).unwrap(),
            "3 MiB, of which 2 MiB are more than without a middleware"
        );
    }
}
