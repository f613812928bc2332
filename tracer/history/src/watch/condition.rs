//! A condition as it is written: `p99>10ms for 5s`, `mqtt:throughput<100`, `verdict`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use strum::{IntoStaticStr, VariantArray};
use wirelap_compare::Metric;
use wirelap_compare::criterion::{Beyond, concerns, of_middleware, sides};
use wirelap_correlate::Group;
use wirelap_events::Nanos;
use wirelap_events::all_variants;

/// A figure of the last second of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The share of the one-way latencies, in thousandths, that this one is not exceeded by.
    Quantile(u16),
    /// The longest one-way latency.
    Max,
    /// Delivered messages a second.
    Throughput,
}

impl Figure {
    const ALL: [Figure; 5] = [
        Figure::Quantile(500),
        Figure::Quantile(990),
        Figure::Quantile(999),
        Figure::Max,
        Figure::Throughput,
    ];

    /// The name, which is that of `--fail-if` where both have the figure.
    pub const fn short(self) -> &'static str {
        match self {
            Figure::Quantile(500) => Metric::OneWayP50Ns.short(),
            Figure::Quantile(990) => Metric::OneWayP99Ns.short(),
            Figure::Quantile(_) => Metric::OneWayP999Ns.short(),
            Figure::Max => "max",
            Figure::Throughput => Metric::ThroughputMsgPerS.short(),
        }
    }

    /// Reads a limit: a time, or messages a second.
    fn limit(self, text: &str) -> Option<f64> {
        if self == Figure::Throughput {
            let number = text.strip_suffix("/s").unwrap_or(text).trim();
            return number.parse().ok().filter(|limit: &f64| limit.is_finite() && *limit >= 0.0);
        }
        let time = humantime::parse_duration(text).ok()?;
        Some(time.as_secs_f64() * 1e9)
    }
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Happening {
    /// A verdict begins to hold.
    Verdict,
    /// Events were lost.
    Loss,
    /// Messages ought to have arrived and have not.
    Overdue,
    /// A row delivers nothing any more.
    Silent,
    /// A process of a row ends.
    Ended,
}

impl Happening {
    const ALL: [Happening; Happening::VARIANTS.len()] = all_variants();

    fn word(self) -> &'static str {
        self.into()
    }
}

/// The subject of a condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConditionSubject {
    /// A figure is above or below a limit.
    Figure {
        /// The figure.
        figure: Figure,
        /// Above or below.
        beyond: Beyond,
        /// The limit: nanoseconds, or messages a second.
        limit: f64,
        /// Time for which the figure has to be beyond the limit.
        lasting: Nanos,
    },
    /// Something happens.
    Happening(Happening),
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Only rows of this middleware, or with this label (`mqtt/mosquitto`); `None` for all.
    pub middleware: Option<String>,
    /// The figure or event that the condition is about.
    pub subject: ConditionSubject,
}

impl Condition {
    /// True if the condition is about a row.
    pub fn concerns(&self, group: &Group) -> bool {
        let broker = group.broker.as_deref().unwrap_or_default();
        let label = format!("{}/{broker}", group.middleware);
        concerns(self.middleware.as_deref(), &group.middleware, &label)
    }
}

impl Condition {
    /// A value of its figure, for people.
    pub fn show(&self, value: f64) -> String {
        match self.subject {
            ConditionSubject::Figure { figure: Figure::Throughput, .. } => {
                format!("{value:.1} msg/s")
            }
            _ => Nanos::from_f64(value).to_string(),
        }
    }
}

/// As it is written on the command line.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(middleware) = &self.middleware {
            write!(f, "{middleware}:")?;
        }
        let ConditionSubject::Figure { figure, beyond, limit, lasting } = self.subject else {
            let ConditionSubject::Happening(happening) = self.subject else { return Ok(()) };
            return f.write_str(happening.word());
        };
        write!(f, "{}{beyond}", figure.short())?;
        if figure == Figure::Throughput {
            write!(f, "{limit}")?;
        } else {
            write!(f, "{}", compact(Duration::from_nanos(Nanos::from_f64(limit).0)))?;
        }
        if lasting > Nanos(0) {
            write!(f, " for {}", compact(Duration::from_nanos(lasting.0)))?;
        }
        Ok(())
    }
}

/// A time without spaces: `1m30s`.
fn compact(time: Duration) -> String {
    humantime::format_duration(time).to_string().replace(' ', "")
}

impl FromStr for Condition {
    type Err = String;

    /// Reads a condition.
    ///
    /// # Errors
    /// One sentence that says what is allowed.
    fn from_str(text: &str) -> Result<Condition, String> {
        parse(text).ok_or_else(|| {
            let figures = Figure::ALL.map(Figure::short).join(", ");
            let words = Happening::ALL.map(Happening::word).join(", ");
            format!(
                "`{text}` is not a condition: write a figure of the last second ({figures}), > or <, and a time or messages a \
                 second, for example p99>10ms or throughput<100, with `for 5s` after it if it has to last; or a word ({words}); \
                 with a middleware before it if it is about only one: mqtt:p99>10ms"
            )
        })
    }
}

fn parse(text: &str) -> Option<Condition> {
    let (middleware, rest) = of_middleware(text)?;
    let word = rest.trim();
    if let Some(happening) = Happening::ALL.into_iter().find(|one| one.word() == word) {
        // Nobody knows whose events were lost.
        let is_of_row = happening != Happening::Loss || middleware.is_none();
        let subject = ConditionSubject::Happening(happening);
        return is_of_row.then_some(Condition { middleware, subject });
    }
    let (rest, lasting) = match rest.split_once(" for ") {
        Some((rest, time)) => (rest, humantime::parse_duration(time.trim()).ok()?),
        None => (rest, Duration::ZERO),
    };
    let (name, beyond, limit) = sides(rest)?;
    let figure = Figure::ALL.into_iter().find(|figure| figure.short() == name)?;
    let limit = figure.limit(limit)?;
    let lasting = Nanos(u64::try_from(lasting.as_nanos()).unwrap_or(u64::MAX));
    Some(Condition {
        middleware,
        subject: ConditionSubject::Figure { figure, beyond, limit, lasting },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_written() {
        for text in [
            "p99>10ms for 5s",
            "p99.9>1s500ms",
            "max>2s",
            "mqtt:p50<100us for 1m30s",
            "mqtt/mosquitto:throughput<100 for 10s",
            "throughput>0.5",
            "verdict",
            "loss",
            "mqtt:overdue",
            "silent",
            "nats:ended",
        ] {
            assert_eq!(text.parse::<Condition>().unwrap().to_string(), text);
        }
        let spaced: Condition = " mqtt : p999 > 10 ms  for 5 s ".parse().unwrap();
        assert_eq!(spaced.to_string(), "mqtt:p99.9>10ms for 5s");
        assert_eq!("throughput<5/s".parse::<Condition>().unwrap().to_string(), "throughput<5");
    }

    #[test]
    fn what_is_allowed_is_said() {
        for text in [
            "",
            "p99",
            "p98>5ms",
            "p99>5",
            "p99>5%",
            "p99>5ms for",
            "p99>5ms for x",
            ":verdict",
            "verdicts",
            "mqtt:loss",
            "throughput<-1",
            "throughput<nan",
            "rtt>1ms",
        ] {
            let error = text.parse::<Condition>().unwrap_err();
            let begin =
                format!("`{text}` is not a condition: write a figure of the last second (p50,");
            assert!(error.starts_with(&begin), "{error}");
        }
    }

    #[test]
    fn a_prefix_is_a_middleware_or_a_label() {
        let group = Group {
            middleware: "mqtt".into(),
            broker: Some("mosquitto".into()),
            ..Group::default()
        };
        for (text, expected) in [
            ("verdict", true),
            ("mqtt:verdict", true),
            ("mqtt/mosquitto:verdict", true),
            ("mqtt/rumqttd:verdict", false),
            ("nats:verdict", false),
        ] {
            assert_eq!(text.parse::<Condition>().unwrap().concerns(&group), expected, "{text}");
        }
    }
}
