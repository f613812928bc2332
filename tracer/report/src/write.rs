//! Writing JSON.

use serde::Serialize;
use std::io::{self, Write};
use wirelap_events::human::escape_json;

/// Writes `value` as indented JSON, followed by a newline.
///
/// # Errors
/// Returns the error of `out`, for example a full disk.
pub fn write_json(mut out: impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    out.write_all(escape_json(text).as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told() {
        let file = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = write_json(file, &[1]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
