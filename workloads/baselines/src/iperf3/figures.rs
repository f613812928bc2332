//! Reader of iperf3's JSON: `end.sum_sent` and `end.sum_received`, or `error`.

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Payload bits a second, as far as it told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IperfFigures {
    /// By the sender's count.
    pub sent: Option<f64>,
    /// By the receiver's count.
    pub received: Option<f64>,
}

impl IperfFigures {
    /// Reads its whole output.
    pub fn read(text: &str) -> Result<IperfFigures> {
        let json: Value = serde_json::from_str(text).context("iperf3 printed no JSON")?;
        let error = json.get("error").and_then(Value::as_str);
        // Whoever was stopped tells what there was until then, and the other side hears of it.
        if let Some(error) = error.filter(|error| !error.ends_with("has terminated")) {
            bail!("iperf3: {}", error.trim_start_matches("error - "));
        }
        let figure =
            |of: &str| json.pointer(&format!("/end/{of}/bits_per_second")).and_then(Value::as_f64);
        Ok(IperfFigures { sent: figure("sum_sent"), received: figure("sum_received") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_errors_are_found() {
        let figures = IperfFigures::read(
            r#"{"start": {}, "end": {"sum_sent": {"bits_per_second": 2.5e10, "bytes": 7},
                "sum_received": {"bits_per_second": 2.25e10}}}"#,
        );
        assert_eq!(figures.unwrap(), IperfFigures { sent: Some(2.5e10), received: Some(2.25e10) });
        assert_eq!(IperfFigures::read(r#"{"end": {}}"#).unwrap(), IperfFigures::default());
        let refused = r#"{"start": {}, "error": "error - unable to connect to server: refused"}"#;
        let error = IperfFigures::read(refused).unwrap_err().to_string();
        assert_eq!(error, "iperf3: unable to connect to server: refused");
        assert!(IperfFigures::read("").is_err());
        let stopped = r#"{"end": {"sum_sent": {"bits_per_second": 7}},
            "error": "interrupt - the client has terminated"}"#;
        assert_eq!(IperfFigures::read(stopped).unwrap().sent, Some(7.0));
    }
}
