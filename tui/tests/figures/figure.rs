//! A figure as a screen shows it: a value, and how exact it can be.

use serde_json::Value;

/// Units and their factors. Times are in nanoseconds, shares in percent.
const UNITS: [(&str, f64); 19] = [
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("bit/s", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("ns", 1.0),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("B", 1.0),
    ("%", 1.0),
    ("×", 1.0),
    ("", 1.0),
];

/// A figure on the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The number that is shown.
    pub value: f64,
    /// The value of one step of the last digit.
    pub digit: f64,
}

impl Figure {
    /// The figure that a text begins with; `None` if it does not begin with a figure.
    pub fn parse(text: &str) -> Option<Figure> {
        let text = text.trim_start();
        let (sign, text) = match text.strip_prefix('−') {
            Some(rest) => (-1.0, rest),
            None => (1.0, text.trim_start_matches(['+', '×'])),
        };
        let is_part = |(at, c): (usize, char)| {
            let before_digit = text[at + c.len_utf8()..].starts_with(|c: char| c.is_ascii_digit());
            c.is_ascii_digit() || (matches!(c, '.' | ',') && before_digit)
        };
        let end = text.char_indices().find(|&part| !is_part(part)).map_or(text.len(), |(at, _)| at);
        let digits = text[..end].replace(',', "");
        let number: f64 = digits.parse().ok()?;
        let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
        let unit = text[end..].trim_start();
        let (_, factor) = UNITS.into_iter().find(|(name, _)| {
            let after = unit.strip_prefix(name);
            after.is_some_and(|rest| {
                name.is_empty() || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '/')
            })
        })?;
        let digit = factor / 10f64.powi(i32::try_from(decimals).ok()?);
        Some(Figure { value: sign * number * factor, digit })
    }

    /// True if the figure is this number, rounded to the figure's last digit.
    pub fn is(self, number: f64) -> bool {
        (self.value - number).abs() <= self.digit * 0.500_001
    }

    /// True if the figure is this number, rounded down to the figure's last digit.
    pub fn is_floor_of(self, number: f64) -> bool {
        (-1e-6..self.digit * 0.999_999).contains(&(number - self.value))
    }
}

/// The number at a path of a JSON document.
pub fn number(json: &Value, path: &str) -> f64 {
    let value = json.pointer(path).unwrap_or_else(|| panic!("no {path}"));
    value.as_f64().unwrap_or_else(|| panic!("{path} is not a number, but {value}"))
}

/// The figure behind a word.
pub fn after(text: &str, word: &str) -> Figure {
    let rest = text.split_once(word).unwrap_or_else(|| panic!("no {word:?} in {text:?}")).1;
    Figure::parse(rest).unwrap_or_else(|| panic!("no figure after {word:?} in {text:?}"))
}

/// The figure that ends before a word.
pub fn before(text: &str, word: &str) -> Figure {
    let head = text.split_once(word).unwrap_or_else(|| panic!("no {word:?} in {text:?}")).0;
    let words: Vec<&str> = head.split_whitespace().collect();
    let is_unit = words.last().is_some_and(|last| !last.contains(|c: char| c.is_ascii_digit()));
    // A figure with a unit is two words.
    let own = words.iter().rev().take(if is_unit { 2 } else { 1 }).rev().copied();
    let own = own.collect::<Vec<_>>().join(" ");
    let found = Figure::parse(own.trim_start_matches('('));
    found.unwrap_or_else(|| panic!("no figure before {word:?} in {text:?}"))
}

/// Fails unless the screen shows this number.
pub fn assert_shows(place: &str, shown: Figure, number: f64) {
    assert!(shown.is(number), "{place}: the screen shows {shown:?}, the JSON has {number}");
}

#[test]
fn figures_are_read_with_their_last_digit() {
    let of = |text| Figure::parse(text).map(|figure| (figure.value, figure.digit));
    assert_eq!(of("13.1 µs p99"), Some((13_100.0, 100.0)));
    assert_eq!(of("44,864, delivered"), Some((44_864.0, 1.0)));
    assert_eq!(of("551 msg/s"), Some((551.0, 1.0)));
    assert_eq!(of("2.00 k"), Some((2_000.0, 10.0)));
    assert_eq!(of("44.9 k×"), Some((44_900.0, 100.0)));
    assert_eq!(of("−2 %"), Some((-2.0, 1.0)));
    assert_eq!(of("+127%"), Some((127.0, 1.0)));
    assert_eq!(of("282 kbit/s"), Some((282_000.0, 1_000.0)));
    assert_eq!((of("–"), of("nothing")), (None, None));
    assert!(Figure::parse("13.1 µs").unwrap().is(13_149.0));
    assert!(!Figure::parse("13.1 µs").unwrap().is(13_151.0));
    assert!(Figure::parse("97.2 %").unwrap().is_floor_of(97.29));
    assert!(!Figure::parse("97.2 %").unwrap().is_floor_of(97.3));
}
