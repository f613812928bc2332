//! The names of results on the page.

use std::collections::{BTreeMap, BTreeSet};
use wirelap_report::{RunReport, RunResult, human};

/// The parts of the names of a report's results besides the middleware.
pub struct Naming {
    /// The file's letter; `None` if there is only one file.
    letter: Option<String>,
    /// The payloads of each middleware.
    sizes: BTreeMap<String, BTreeSet<u64>>,
    has_several_rates: bool,
}

impl Naming {
    /// For the results of a report, whose file has a letter if there are several.
    pub fn of(report: &RunReport, letter: Option<String>) -> Naming {
        let mut sizes: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for result in &report.results {
            sizes.entry(result.label()).or_default().insert(result.payload_bytes);
        }
        Naming { letter, sizes, has_several_rates: report.has_several_rates() }
    }

    /// The middleware, with the file's letter: `tcp`, `B: mqtt/mosquitto`.
    pub fn middleware(&self, result: &RunResult) -> String {
        let label = result.label();
        self.letter.as_ref().map_or_else(|| label.clone(), |letter| format!("{letter}: {label}"))
    }

    /// The same with the payload and the rate if there are several: `B: tcp, 64 B at 1 k msg/s`.
    pub fn name(&self, result: &RunResult) -> String {
        let mut name = self.middleware(result);
        if self.sizes.get(&result.label()).is_some_and(|sizes| sizes.len() > 1) {
            name = format!("{name}, {}", human::bytes(result.payload_bytes as f64));
        }
        match result.rate_msg_per_s.filter(|_| self.has_several_rates) {
            Some(rate) => format!("{name} at {} msg/s", human::count(rate)),
            None => name,
        }
    }
}

/// The name, with a number if it is taken.
pub fn unique(taken: &mut BTreeMap<String, usize>, name: String) -> String {
    let count = taken.entry(name.clone()).or_default();
    *count = count.saturating_add(1);
    if *count > 1 { format!("{name} (no. {count})") } else { name }
}

/// `A` for the first file, and numbers where there are no letters left.
pub fn letter(file: usize) -> String {
    let letter =
        u8::try_from(file).ok().filter(|&file| file < 26).map(|file| b'A'.saturating_add(file));
    letter
        .map_or_else(|| file.saturating_add(1).to_string(), |letter| char::from(letter).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_test_pipeline::snapshots;

    fn names(results: &[(u64, Option<f64>)], letter: Option<&str>) -> Vec<String> {
        let mut report = wirelap_report::from_snapshot::run_report(&snapshots::empty(0));
        let result = |&(payload_bytes, rate_msg_per_s): &(u64, Option<f64>)| RunResult {
            middleware: "tcp".into(),
            payload_bytes,
            rate_msg_per_s,
            ..RunResult::default()
        };
        report.results = results.iter().map(result).collect();
        let naming = Naming::of(&report, letter.map(str::to_owned));
        report.results.iter().map(|result| naming.name(result)).collect()
    }

    #[test]
    fn files_have_letters() {
        assert_eq!([0, 25, 26].map(letter), ["A", "Z", "27"]);
    }

    #[test]
    fn a_name_has_what_differs_between_results() {
        assert_eq!(names(&[(64, Some(5e3))], Some("B")), ["B: tcp"]);
        let rates = [(64, Some(1e3)), (64, Some(2e3))];
        assert_eq!(names(&rates, None), ["tcp at 1 k msg/s", "tcp at 2 k msg/s"]);
        let sizes = [(64, None), (1024, None)];
        assert_eq!(names(&sizes, None), ["tcp, 64 B", "tcp, 1 KiB"]);
        let both = [(64, Some(1e3)), (1024, Some(2e3))];
        assert_eq!(names(&both, Some("A"))[1], "A: tcp, 1 KiB at 2 k msg/s");
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let mut taken = BTreeMap::new();
        let names = ["tcp", "mqtt", "tcp"].map(|name| unique(&mut taken, name.to_owned()));
        assert_eq!(names, ["tcp", "mqtt", "tcp (no. 2)"]);
    }
}
