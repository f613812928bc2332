//! Rules have no numbers of their own: a time, share or count that decides something is a limit with a name.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders of the tracer whose files are rules.
const RULES: [&str; 4] =
    ["flow/src/marks", "flow/src/threads", "why/src", "correlate/src/view/trust"];

/// Every source file below a folder, without tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.file_stem().and_then(|name| name.to_str()) {
            Some("tests") => {}
            _ if path.is_dir() => found.extend(sources(&path)),
            _ => found.push(path),
        }
    }
    found
}

/// A line without strings and comments.
fn code(line: &str) -> String {
    let line = line.split("//").next().unwrap();
    line.split('"').step_by(2).collect::<Vec<_>>().join(" ")
}

/// True if the line says how many things of something there are or may be: a bound of memory, or a number of the kernel's.
fn is_size(code: &str) -> bool {
    let named = code.split_once("const ").and_then(|(_, named)| named.split_once(": "));
    named.is_some_and(|(_, kind)| ["usize ", "u32 ", "["].iter().any(|of| kind.starts_with(of)))
}

/// Numbers in a line of code other than 0, 1 and 2, and places in tuples.
fn numbers(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut before = ' ';
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_part = before.is_alphanumeric() || before == '_' || before == '.';
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
        let word = &rest[..end.unwrap_or(rest.len())];
        let number = word.split("..").next().unwrap();
        if first.is_ascii_digit() && !is_part {
            let value = number.split(char::is_alphabetic).next().unwrap().trim_end_matches('_');
            let is_length = rest[number.len()..].starts_with(']') && code.contains("; ");
            if !["0", "1", "2", "0.0", "1.0", "2.0"].contains(&value) && !is_length {
                found.push(number.to_owned());
            }
        }
        let step = if number.is_empty() { first.len_utf8() } else { number.len() };
        before = rest[..step].chars().next_back().unwrap();
        rest = &rest[step..];
    }
    found
}

#[test]
fn rules_have_no_numbers_of_their_own() {
    let tracer = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut bare = Vec::new();
    for path in RULES.iter().flat_map(|folder| sources(&tracer.join(folder))) {
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for (at, line) in (1..).zip(text.lines()) {
            let code = code(line);
            if !is_size(&code) && !numbers(&code).is_empty() {
                bare.push(format!("{}:{at}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(bare.is_empty(), "numbers belong into wirelap_limits:\n{}", bare.join("\n"));
}

#[test]
fn numbers_are_told_from_names_and_places() {
    assert_eq!(numbers("time >= Nanos::from_millis(3) && share < 0.25"), ["3", "0.25"]);
    assert!(numbers("pair.1 - 1 + u64::from(x2) * (0..MAX_LEGS).count() / 2.0").is_empty());
    assert!(numbers("let mut count = 0_usize;").is_empty());
    assert!(numbers("counts: [u64; 7],").is_empty());
    assert!(is_size("pub const WORST: usize = 10;") && !is_size("const LATE: Nanos = ms(7);"));
}
