//! Parsers of the quantities in scenario files and on the command line. Each error is the message that the user sees.

use crate::payload::PayloadSizes;
use wirelap_contract::STAMP_BYTES;
use wirelap_session::Sampling;

/// A number of bytes, with an optional binary unit: K, M or G.
///
/// # Errors
/// The text is not such a number.
pub fn bytes(text: &str) -> Result<u64, String> {
    let units = [(['K', 'k'], 1 << 10), (['M', 'm'], 1 << 20), (['G', 'g'], 1 << 30)];
    let with_unit =
        units.iter().find_map(|(letters, unit)| Some((text.strip_suffix(*letters)?, *unit)));
    let (digits, unit) = with_unit.unwrap_or((text, 1_u64));
    let wrong = || format!("`{text}` is not a number of bytes such as 64, 4K or 1M");
    digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or_else(wrong)
}

/// A rate of a link in bits a second, with an optional decimal unit: bit, Kbit, Mbit or Gbit.
///
/// # Errors
/// The text is not such a rate, or the rate is 0.
pub fn bit_rate(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a rate above 0 such as 1Gbit, 100Mbit or 9600");
    let lower = text.to_ascii_lowercase();
    let units = [("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000), ("bit", 1)];
    let with_unit = units.iter().find_map(|(name, unit)| Some((lower.strip_suffix(name)?, *unit)));
    let (number, unit) = with_unit.unwrap_or((lower.as_str(), 1));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let places = u32::try_from(part.len()).ok().and_then(|places| 10_u64.checked_pow(places));
    let digits = format!("{whole}{part}").parse::<u64>().ok().filter(|_| !whole.is_empty());
    digits
        .zip(places)
        .and_then(|(digits, places)| digits.checked_mul(unit)?.checked_div(places))
        .filter(|&rate| rate > 0)
        .ok_or_else(wrong)
}

/// The payload size of a message.
///
/// # Errors
/// The text is not a number of bytes, or too small for a message of wirelap's workloads.
pub fn payload_size(text: &str) -> Result<usize, String> {
    let size = usize::try_from(bytes(text)?).map_err(|_| format!("`{text}` is too large"))?;
    if size < STAMP_BYTES {
        return Err(format!(
            "a payload needs at least {STAMP_BYTES} bytes, for the header of wirelap's workloads"
        ));
    }
    Ok(size)
}

/// A payload size, or the powers of two in a range: `64`, `8..64K`.
///
/// # Errors
/// The text is neither, or the range contains no power of two.
pub fn payload(text: &str) -> Result<PayloadSizes, String> {
    let Some((first, last)) = text.split_once("..") else {
        return payload_size(text).map(PayloadSizes::Bytes);
    };
    let (first, last) = (payload_size(first.trim())?, payload_size(last.trim())?);
    if first > last {
        return Err(format!("`{text}`: the first size of a range must not be the larger one"));
    }
    let range = PayloadSizes::PowersOfTwo { first, last };
    if range.sizes().is_empty() {
        return Err(format!(
            "`{text}` contains no power of two: a range means the powers of two in it"
        ));
    }
    Ok(range)
}

/// A rate in messages a second.
///
/// # Errors
/// The text is not a number above 0.
pub fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err(format!("`{text}` is not a rate above 0")),
    }
}

/// A choice of sampling: `50ms/500ms` or `off`.
///
/// # Errors
/// The text is neither `off` nor a window and a longer period.
pub fn sampling(text: &str) -> Result<Sampling, String> {
    if text == "off" {
        return Ok(Sampling::Off);
    }
    let wrong = || {
        format!("`{text}` is neither `off` nor a window and a longer period, such as 50ms/500ms")
    };
    let (open, every) = text.split_once('/').ok_or_else(wrong)?;
    let time = |text| humantime::parse_duration(text).map_err(|_| wrong());
    let (open, every) = (time(open)?, time(every)?);
    if open.is_zero() || every <= open {
        return Err(wrong());
    }
    Ok(Sampling::Windows { open, every })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_binary() {
        assert_eq!(bytes("64"), Ok(64));
        assert_eq!(bytes("4k"), Ok(4096));
        assert_eq!(bytes("1M"), Ok(1 << 20));
        for wrong in ["", "K", "-1", "1.5K", "20000000000G", "é"] {
            assert!(bytes(wrong).is_err(), "{wrong} was accepted");
        }
    }

    #[test]
    fn units_of_links_are_decimal() {
        for (text, rate) in [
            ("9600", 9600),
            ("64bit", 64),
            ("16Kbit", 16_000),
            ("2.5Gbit", 2_500_000_000),
            ("100mbit", 100_000_000),
        ] {
            assert_eq!(bit_rate(text), Ok(rate));
        }
        for wrong in
            ["", "0", "bit", "Mbit", ".5Gbit", "-1", "1M", "1kkbit", "1e9", "99999999999Gbit", "é"]
        {
            assert!(bit_rate(wrong).is_err(), "{wrong} was accepted");
        }
    }

    #[test]
    fn a_range_means_the_powers_of_two_in_it() {
        let sizes = |text| payload(text).map(PayloadSizes::sizes);
        assert_eq!(sizes("64"), Ok(vec![64]));
        assert_eq!(sizes("8..64"), Ok(vec![8, 16, 32, 64]));
        assert_eq!(sizes("100..1K"), Ok(vec![128, 256, 512, 1024]));
        assert_eq!(sizes("8..512M").map(|sizes| sizes.len()), Ok(27));
        for (wrong, why) in [
            ("4..64", "at least 8 bytes"),
            ("64..8", "must not be the larger one"),
            ("9..15", "contains no power of two"),
            ("8..", "`` is not a number of bytes"),
            ("8..64X", "`64X` is not a number of bytes"),
        ] {
            let error = payload(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_window_is_shorter_than_its_period() {
        assert_eq!(sampling("off"), Ok(Sampling::Off));
        assert!(matches!(sampling("50ms/500ms"), Ok(Sampling::Windows { .. })));
        for wrong in ["500ms/50ms", "0s/1s", "50ms", "x/y"] {
            assert!(sampling(wrong).is_err(), "{wrong} was accepted");
        }
    }
}
