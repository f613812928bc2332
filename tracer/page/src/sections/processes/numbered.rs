//! The names of processes in charts.

use wirelap_report::ProcessUse;

/// The processes of a repetition by role, with a number from the second process of a role on.
pub fn numbered(processes: &[ProcessUse]) -> Vec<(String, &ProcessUse)> {
    let name = |(number, one): (usize, &ProcessUse)| match processes
        .iter()
        .take(number)
        .filter(|other| other.role == one.role)
        .count()
    {
        0 => one.role.clone(),
        earlier => format!("{} {}", one.role, earlier.saturating_add(1)),
    };
    processes.iter().enumerate().map(|(number, one)| (name((number, one)), one)).collect()
}
