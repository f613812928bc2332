//! The criteria of `--fail-if`: `p99>5%`, `throughput<-3%`, `mqtt:p99>5%`.

use crate::metric::Metric;
use std::fmt;
use std::str::FromStr;

/// The direction in which a change is a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// B/A is larger than the limit.
    Above,
    /// B/A is smaller than the limit.
    Below,
}

/// One criterion.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    /// Only results of this middleware, or with this label (`mqtt/mosquitto`); `None` for all.
    pub middleware: Option<String>,
    /// The metric.
    pub metric: Metric,
    /// Above or below the limit.
    pub beyond: Beyond,
    /// The limit of the change from A to B, in percent.
    pub percent: f64,
}

impl Criterion {
    /// The limit as a ratio B/A.
    pub fn ratio(&self) -> f64 {
        1.0 + self.percent / 100.0
    }

    /// True if the whole interval of the ratio is beyond the limit.
    pub fn fires(&self, ratio_low: f64, ratio_high: f64) -> bool {
        match self.beyond {
            Beyond::Above => ratio_low > self.ratio(),
            Beyond::Below => ratio_high < self.ratio(),
        }
    }

    /// True if the criterion is about a result of this middleware and label.
    pub fn concerns(&self, middleware: &str, label: &str) -> bool {
        concerns(self.middleware.as_deref(), middleware, label)
    }
}

/// True if a name is that of a middleware or of a label; without one, everything is meant.
pub fn concerns(name: Option<&str>, middleware: &str, label: &str) -> bool {
    name.is_none_or(|name| name == middleware || name == label)
}

/// As it is written on the command line.
impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(middleware) = &self.middleware {
            write!(f, "{middleware}:")?;
        }
        write!(f, "{}{}{}%", self.metric.short(), self.beyond, self.percent)
    }
}

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Beyond::Above => ">",
            Beyond::Below => "<",
        })
    }
}

impl FromStr for Criterion {
    type Err = String;

    /// Reads a criterion.
    ///
    /// # Errors
    /// One sentence that says what is allowed.
    fn from_str(text: &str) -> Result<Criterion, String> {
        parse(text).ok_or_else(|| {
            let metrics = Metric::ALL.map(Metric::short).join(", ");
            format!(
                "`{text}` is not a criterion: write a metric ({metrics}), > or <, and a change in percent, for \
                 example p99>5% or throughput<-3%, with a middleware before it if it is about only one: mqtt:p99>5%"
            )
        })
    }
}

fn parse(text: &str) -> Option<Criterion> {
    let (middleware, rest) = of_middleware(text)?;
    let (name, beyond, limit) = sides(rest)?;
    let metric = Metric::ALL.into_iter().find(|metric| metric.short() == name)?;
    let number = limit.strip_suffix('%')?.trim().replace('−', "-");
    let percent = number.parse().ok().filter(|percent: &f64| percent.is_finite())?;
    Some(Criterion { middleware, metric, beyond, percent })
}

/// The middleware or label before a colon, if there is one, and the rest: `mqtt:p99>5%`. `None` if nothing is before the colon.
pub fn of_middleware(text: &str) -> Option<(Option<String>, &str)> {
    match text.split_once(':') {
        Some((name, _)) if name.trim().is_empty() => None,
        Some((name, rest)) => Some((Some(name.trim().to_owned()), rest)),
        None => Some((None, text)),
    }
}

/// Splits a criterion at `>` or `<` into the name of a figure, the direction and the limit. `None` without either.
pub fn sides(text: &str) -> Option<(&str, Beyond, &str)> {
    let at = text.find(['>', '<'])?;
    let (name, limit) = text.split_at(at);
    let mut limit = limit.chars();
    let beyond = if limit.next() == Some('>') { Beyond::Above } else { Beyond::Below };
    let name = match name.trim() {
        "p999" => "p99.9",
        name => name,
    };
    Some((name, beyond, limit.as_str().trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_are_read_and_written() {
        for text in [
            "p99>5%",
            "throughput<-3%",
            "bytes>0%",
            "cpu>10%",
            "mqtt:p99.9>2.5%",
            "connect-p50>5%",
            "mqtt/mosquitto:connect-p99>5%",
        ] {
            assert_eq!(text.parse::<Criterion>().unwrap().to_string(), text);
        }
        let spaced: Criterion = " mqtt/mosquitto : p999 > 5 % ".parse().unwrap();
        assert_eq!(spaced.to_string(), "mqtt/mosquitto:p99.9>5%");
        assert_eq!("rtt<−3%".parse::<Criterion>().unwrap().to_string(), "rtt<-3%");
    }

    #[test]
    fn what_is_allowed_is_said() {
        for text in
            ["", "p99", "p98>5%", "p99>5", "p99>x%", "p99>nan%", "p99>inf%", ":p99>5%", "p99=5%"]
        {
            let error = text.parse::<Criterion>().unwrap_err();
            assert!(
                error.starts_with(&format!("`{text}` is not a criterion: write a metric (p50, "))
            );
        }
    }

    #[test]
    fn the_whole_interval_must_be_beyond() {
        let above: Criterion = "p99>5%".parse().unwrap();
        assert!(above.fires(1.06, 1.2) && !above.fires(1.04, 1.2) && !above.fires(0.8, 0.9));
        let below: Criterion = "throughput<-3%".parse().unwrap();
        assert!(below.fires(0.8, 0.96) && !below.fires(0.8, 0.98) && !below.fires(1.0, 1.0));
    }

    #[test]
    fn a_prefix_is_a_middleware_or_a_label() {
        let of = |text: &str| text.parse::<Criterion>().unwrap();
        assert!(of("p99>5%").concerns("mqtt", "mqtt/mosquitto"));
        assert!(of("mqtt:p99>5%").concerns("mqtt", "mqtt/mosquitto"));
        assert!(of("mqtt/mosquitto:p99>5%").concerns("mqtt", "mqtt/mosquitto"));
        assert!(!of("mqtt/rumqttd:p99>5%").concerns("mqtt", "mqtt/mosquitto"));
    }
}
