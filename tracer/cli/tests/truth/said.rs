//! Statements of wirelap's JSON, as far as they are judged.

use serde_json::Value;

/// A verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub kind: String,
    pub is_problem: bool,
    pub leg: Option<u64>,
    /// Empty if it names none.
    pub process: String,
    /// 0 if it names none.
    pub pid: u64,
    /// The process that had the CPU or the lock most of that time; empty if nobody is named.
    pub culprit: String,
    /// Time by which it made messages slower, all together.
    pub slow_ns: u64,
    /// The row that it is about.
    pub row: String,
}

impl Verdict {
    fn of(value: &Value, row: &str) -> Verdict {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or("");
        let number = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        Verdict {
            kind: text("/kind").to_owned(),
            is_problem: text("/severity") == "problem",
            leg: value["leg"].as_u64(),
            process: text("/process/name").to_owned(),
            pid: number("/process/pid"),
            culprit: text("/culprits/0/name").to_owned(),
            slow_ns: number("/slow_messages") * number("/slow_ns"),
            row: row.to_owned(),
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(leg) = self.leg {
            write!(f, "@{leg}")?;
        }
        match self.process.as_str() {
            "" => {}
            name => write!(f, " {name}")?,
        }
        match self.culprit.as_str() {
            "" => Ok(()),
            name => write!(f, " (by {name}, {:.1} ms in all)", self.slow_ns as f64 / 1e6),
        }
    }
}

/// The rows of one middleware together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// Rows that have messages.
    pub rows: usize,
    pub sent: u64,
    pub delivered: u64,
    pub matched: u64,
    pub verdicts: Vec<Verdict>,
    /// Why the figures are not to be trusted; empty if they are.
    pub doubts: Vec<String>,
    /// The report claims that nothing is wrong.
    pub healthy: bool,
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    /// Messages of rows that nobody arranged.
    pub elsewhere: Vec<(String, u64)>,
}

impl Said {
    /// Reads what is said of a middleware; of a name such as `zenoh` also its variants, `zenoh-p2p`.
    pub fn of(report: &Value, middleware: &str) -> Said {
        let mut said = Said::default();
        for result in report["results"].as_array().into_iter().flatten() {
            let name = result["middleware"].as_str().unwrap_or("");
            let count = |name: &str| result["messages"][name].as_u64().unwrap_or(0);
            let messages = count("sent") + count("delivered");
            if messages == 0 {
                continue;
            }
            if name != middleware && !name.starts_with(&format!("{middleware}-")) {
                said.elsewhere.push((name.to_owned(), messages));
                continue;
            }
            said.add(result);
        }
        said
    }

    fn add(&mut self, result: &Value) {
        let count = |name: &str| result["messages"][name].as_u64().unwrap_or(0);
        self.rows += 1;
        self.sent += count("sent");
        self.delivered += count("delivered");
        self.matched += count("matched");
        let row = result["broker"].as_str().unwrap_or("");
        let verdicts = result["why"]["verdicts"].as_array().into_iter().flatten();
        self.verdicts.extend(verdicts.map(|verdict| Verdict::of(verdict, row)));
        self.healthy |= result["why"]["healthy"].as_bool().unwrap_or(false);
        let trust = &result["trust"];
        if trust["verdict"].as_str().is_some_and(|verdict| verdict != "good") {
            let reasons = trust["reasons"].as_array().into_iter().flatten();
            let text = |reason: &Value| reason.as_str().map_or(reason.to_string(), str::to_owned);
            self.doubts.extend(reasons.map(text));
            if self.doubts.is_empty() {
                self.doubts.push("not to be trusted, and no reason is given".to_owned());
            }
        }
        // A few do not spoil a row; they are told all the same.
        let unseen = trust["unseen_sent"]["packets"].as_u64().unwrap_or(0);
        if unseen > 0 {
            self.doubts.push(format!("{unseen} packets that no probe saw where they were sent"));
        }
        let time = |name: &str| result["latency"]["one_way_ns"][name].as_u64();
        (self.p50_ns, self.p99_ns) = (time("p50"), time("p99"));
    }

    /// The problems, the gravest first.
    pub fn problems(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| verdict.is_problem)
    }
}
