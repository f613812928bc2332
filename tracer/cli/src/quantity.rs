//! Parsers of quantities on the command line. Each error is the message that the user sees.

use wirelap_correlate::{Dimension, RowFigure};
pub use wirelap_experiment::quantity::{bit_rate, bytes, payload, payload_size, rate, sampling};
use wirelap_session::{Budget, TracedTime};

/// A number of bytes below 4 GiB.
pub fn bytes_u32(text: &str) -> Result<u32, String> {
    u32::try_from(bytes(text)?).map_err(|_| format!("`{text}` is 4 GiB or more"))
}

/// A share of a core, such as `1%`: more than nothing, and not more than one.
pub fn share(text: &str) -> Result<f64, String> {
    let percents = text.strip_suffix('%').and_then(|percents| percents.trim().parse::<f64>().ok());
    match percents {
        Some(percents) if percents > 0.0 && percents <= 100.0 => Ok(percents / 100.0),
        _ => Err(format!("`{text}` is not a share such as 1% or 0.5%, and at most 100%")),
    }
}

/// Reads the time in which events are reported: all the time, in windows, or as far as wirelap keeps up.
pub fn traced_time(text: &str) -> Result<TracedTime, String> {
    match text {
        "auto" => Ok(TracedTime::Within(Budget::keeping_up())),
        _ => sampling(text).map(Into::into).map_err(|error| format!("{error}, nor `auto`")),
    }
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

/// A port and its protocol, `PORT=PROTO`, for a protocol that has a decoder.
pub fn decode(text: &str) -> Result<(u16, String), String> {
    let (port, protocol) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not a port and a protocol such as 11883=mqtt"))?;
    let port = port.parse().map_err(|_| format!("`{port}` is not a port"))?;
    if wirelap_protocols::by_name(protocol).is_none() {
        let known = wirelap_protocols::named().map(wirelap_protocols::Protocol::name);
        let known = known.collect::<Vec<_>>().join(", ");
        return Err(format!("there is no decoder for `{protocol}`; known: {known}"));
    }
    Ok((port, protocol.to_owned()))
}

/// A dimension of `--by`.
pub fn dimension(text: &str) -> Result<Dimension, String> {
    Dimension::of_name(text).ok_or_else(|| {
        let names: Vec<_> = Dimension::ALL.into_iter().map(Dimension::name).collect();
        format!("there are {}", names.join(", "))
    })
}

/// A figure of `--sort`.
pub fn row_figure(text: &str) -> Result<RowFigure, String> {
    RowFigure::of_name(text).ok_or_else(|| {
        let names: Vec<_> = RowFigure::ALL.into_iter().map(RowFigure::name).collect();
        format!("there are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_below_4_gib() {
        assert_eq!(bytes_u32("64M"), Ok(64 << 20));
        assert!(bytes_u32("4G").is_err());
    }

    #[test]
    fn a_share_is_of_one_core() {
        for (text, expected) in [("1%", 0.01), ("0.5 %", 0.005), ("100%", 1.0)] {
            assert_eq!(share(text), Ok(expected));
        }
        for text in ["0%", "101%", "-1%", "NaN%", "0.01", "much"] {
            assert!(share(text).unwrap_err().contains("such as 1%"), "{text}");
        }
        assert_eq!(traced_time("auto"), Ok(TracedTime::Within(Budget::keeping_up())));
        assert_eq!(traced_time("off"), Ok(wirelap_session::Sampling::Off.into()));
        assert!(traced_time("often").unwrap_err().contains("auto"));
    }

    #[test]
    fn only_protocols_with_a_decoder_can_be_chosen() {
        assert_eq!(decode("11883=mqtt"), Ok((11883, "mqtt".into())));
        assert!(decode("11883=gopher").unwrap_err().contains("mqtt"));
        assert!(decode("mqtt").is_err());
    }
}
