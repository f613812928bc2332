//! Parsers of quantities on the command line. Each error is the message that the user sees.

use wirelap_contract::STAMP_BYTES;
use wirelap_session::Sampling;

/// A number of bytes, with an optional binary unit: K, M or G.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.to_ascii_uppercase().chars().last() {
        Some('K') => (&text[..text.len().saturating_sub(1)], 1 << 10),
        Some('M') => (&text[..text.len().saturating_sub(1)], 1 << 20),
        Some('G') => (&text[..text.len().saturating_sub(1)], 1 << 30),
        _ => (text, 1u64),
    };
    let wrong = || format!("`{text}` is not a number of bytes such as 64, 4K or 1M");
    digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or_else(wrong)
}

/// A number of bytes below 4 GiB.
pub fn bytes_u32(text: &str) -> Result<u32, String> {
    u32::try_from(bytes(text)?).map_err(|_| format!("`{text}` is 4 GiB or more"))
}

/// The payload bytes that are captured of each packet.
pub fn snap(text: &str) -> Result<u32, String> {
    match bytes_u32(text)? {
        0 => Err("messages are found in the payload: use 1 or more, or remove --snap; recordings contain no payload \
                  unless --payload or --pcapng-payload is given"
            .into()),
        snap => Ok(snap),
    }
}

/// The payload size of a message.
pub fn payload(text: &str) -> Result<usize, String> {
    let size = usize::try_from(bytes(text)?).map_err(|_| format!("`{text}` is too large"))?;
    if size < STAMP_BYTES {
        return Err(format!(
            "a payload needs at least {STAMP_BYTES} bytes, for the header of wirelap's workloads"
        ));
    }
    Ok(size)
}

/// A rate in messages a second.
pub fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err(format!("`{text}` is not a rate above 0")),
    }
}

/// A choice of sampling: `50ms/500ms` or `off`.
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

/// A port and its protocol, `PORT=PROTO`, for a protocol that has a decoder.
pub fn decode(text: &str) -> Result<(u16, String), String> {
    let (port, protocol) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not a port and a protocol such as 11883=mqtt"))?;
    let port = port.parse().map_err(|_| format!("`{port}` is not a port"))?;
    if wirelap_protocols::by_name(protocol).is_none() {
        let known = wirelap_protocols::registry().iter().map(|protocol| protocol.name());
        let known = known.collect::<Vec<_>>().join(", ");
        return Err(format!("there is no decoder for `{protocol}`; known: {known}"));
    }
    Ok((port, protocol.to_owned()))
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
        assert!(bytes_u32("4G").is_err());
    }

    #[test]
    fn a_window_is_shorter_than_its_period() {
        assert_eq!(sampling("off"), Ok(Sampling::Off));
        assert!(matches!(sampling("50ms/500ms"), Ok(Sampling::Windows { .. })));
        for wrong in ["500ms/50ms", "0s/1s", "50ms", "x/y"] {
            assert!(sampling(wrong).is_err(), "{wrong} was accepted");
        }
    }

    #[test]
    fn only_protocols_with_a_decoder_can_be_chosen() {
        assert_eq!(decode("11883=mqtt"), Ok((11883, "mqtt".into())));
        assert!(decode("11883=gopher").unwrap_err().contains("mqtt"));
        assert!(decode("mqtt").is_err());
    }
}
