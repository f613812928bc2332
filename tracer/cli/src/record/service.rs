//! Sentences of `wirelap record` on itself: to whoever has started it on a terminal, or as a service in single lines of the journal.

use wirelap_events::Total;
use wirelap_events::human;
use wirelap_process::output;
use wirelap_process::service::SystemdService;
use wirelap_report::{Hook, RunReport};

/// Reader of these sentences: a terminal, or systemd and its journal.
#[derive(Debug)]
pub struct Journal {
    /// systemd, if it has started wirelap as a service.
    service: Option<SystemdService>,
}

impl Journal {
    /// That of this process.
    pub fn here() -> Journal {
        Journal { service: SystemdService::here() }
    }

    /// True if systemd has started wirelap.
    pub fn is_of_service(&self) -> bool {
        self.service.is_some()
    }

    /// Recording has begun.
    pub fn began(&self, what: &str, hooks: &[Hook]) {
        if self.service.is_none() {
            return output::say(&format!("{what}; Ctrl-C ends it\n"));
        }
        output::say(&format!("{what}; {}\n", observed(hooks)));
        self.ready(what, hooks);
    }

    /// systemd may take the service as started; says nothing to others.
    pub fn ready(&self, what: &str, hooks: &[Hook]) {
        if let Some(service) = &self.service {
            service.ready(&format!("{what}; {}", observed(hooks)));
        }
    }

    /// The results in one line, if nobody looks at a table; otherwise `None`.
    pub fn results(&self, report: &RunReport) -> Option<String> {
        self.service.as_ref().map(|_| results(report))
    }

    /// Recording has ended, with these files.
    pub fn ends(&self, files: &str) {
        output::say(&format!("{files}\n"));
        if let Some(service) = &self.service {
            service.stopping(files);
        }
    }
}

/// Says how many observations are made, and which are not.
fn observed(hooks: &[Hook]) -> String {
    let missing: Vec<&str> = hooks
        .iter()
        .filter(|hook| hook.hook.is_none())
        .map(|hook| hook.observation.as_str())
        .collect();
    let made = hooks.len().saturating_sub(missing.len());
    match missing.as_slice() {
        [] => format!("all {made} observations are made"),
        missing => format!(
            "{made} of {} observations are made, without {} (`wirelap doctor` says why)",
            hooks.len(),
            missing.join(", ")
        ),
    }
}

fn results(report: &RunReport) -> String {
    let delivered: u64 = report.results.iter().map(|result| result.messages.delivered).total();
    let lost: u64 =
        report.results.iter().map(|result| result.trust.lost()).max().unwrap_or_default();
    let rows: Vec<String> = report.results.iter().map(wirelap_report::RunResult::label).collect();
    let rows = if rows.is_empty() { "nothing that is known".into() } else { rows.join(", ") };
    format!(
        "saw {rows}: {} delivered, {} lost\n",
        human::counted(delivered, "message"),
        human::counted(lost, "event")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_correlate::Snapshot;
    use wirelap_report::from_snapshot::run_report;

    fn hook(observation: &str, hook: Option<&str>) -> Hook {
        Hook { observation: observation.into(), hook: hook.map(Into::into) }
    }

    #[test]
    fn what_is_not_observed_is_named() {
        let all = [hook("read", Some("a")), hook("send", Some("b"))];
        assert_eq!(observed(&all), "all 2 observations are made");
        let text = observed(&[hook("read", Some("a")), hook("sockets", None)]);
        assert!(text.starts_with("1 of 2 observations are made, without sockets "), "{text}");
    }

    #[test]
    fn results_are_one_line() {
        let text = results(&run_report(&Snapshot::default()));
        assert_eq!(text, "saw nothing that is known: 0 messages delivered, 0 events lost\n");
    }
}
