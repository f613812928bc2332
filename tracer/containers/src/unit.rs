//! The names of systemd's units in paths of cgroups.

/// Suffixes of the units that have cgroups (`systemd.unit(5)`).
const SUFFIXES: [&str; 6] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"];

/// The unit that a directory is of, if it is one's. The name is that of `systemctl`, with what systemd escapes written out
/// (`systemd.unit(5)`, "String Escaping for Inclusion in Unit Names").
pub fn unit(directory: &str) -> Option<String> {
    let name = unprotected(directory);
    let is_unit = SUFFIXES.iter().any(|suffix| name.len() > suffix.len() && name.ends_with(suffix));
    is_unit.then(|| unescaped(name))
}

/// True if a unit has others below it and no processes of its own.
#[allow(clippy::case_sensitive_file_extension_comparisons)] // No file: systemd tells upper and lower case apart.
pub fn is_slice(unit: &str) -> bool {
    unit.ends_with(".slice")
}

/// A directory's name without the `_` that systemd puts before names that the kernel could take for its own files (`cg_escape()`
/// in systemd's `src/basic/cgroup-util.c`).
pub fn unprotected(directory: &str) -> &str {
    directory.strip_prefix('_').filter(|rest| !rest.is_empty()).unwrap_or(directory)
}

/// A name with `\xNN` written out. It stays as it is where that would not be text, or would be control characters or `/`.
pub fn unescaped(name: &str) -> String {
    if !name.contains("\\x") {
        return name.to_owned();
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, more @ ..] = rest {
        let code = match rest {
            [b'\\', b'x', high, low, ..] => hex(*high).zip(hex(*low)),
            _ => None,
        };
        if let Some((high, low)) = code {
            bytes.push((high << 4) | low);
            rest = rest.get(4..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = more;
        }
    }
    let text = String::from_utf8(bytes).ok();
    let is_plain = |text: &String| !text.chars().any(|c| c.is_control() || c == '/');
    text.filter(is_plain).unwrap_or_else(|| name.to_owned())
}

fn hex(digit: u8) -> Option<u8> {
    u8::try_from(char::from(digit).to_digit(16)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_names_are_written_out() {
        for (directory, expected) in [
            ("mosquitto.service", Some("mosquitto.service")),
            ("mosquitto@blue.service", Some("mosquitto@blue.service")),
            ("my\\x2dbroker@a\\x20b.service", Some("my-broker@a b.service")),
            ("caf\\xc3\\xa9.service", Some("café.service")),
            ("bad\\xff.service", Some("bad\\xff.service")),
            ("bad\\x1b.service", Some("bad\\x1b.service")),
            ("up\\x2fdown.service", Some("up\\x2fdown.service")),
            ("cut\\x2.service", Some("cut\\x2.service")),
            ("_cgroup.service", Some("cgroup.service")),
            ("session-3.scope", Some("session-3.scope")),
            (".service", None),
            ("payload", None),
            ("", None),
        ] {
            assert_eq!(unit(directory).as_deref(), expected, "{directory}");
        }
        assert!(is_slice("user.slice") && !is_slice("a.scope"));
    }
}
