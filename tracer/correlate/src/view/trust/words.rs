//! Counts in sentences.

/// A count with its thousands set apart: `1,234,567`.
pub fn exact(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len().saturating_mul(4) / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digits.len().saturating_sub(index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub fn counted(count: u64, one: &str) -> String {
    match (count, one.strip_suffix('y')) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) => format!("{} {stem}ies", exact(count)),
        (_, None) => format!("{} {one}s", exact(count)),
    }
}

pub fn were(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{} {many}", exact(count)) }
}
