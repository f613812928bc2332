//! A request over HTTP, and what its answer means.

use crate::proto::{ExportResponse, PartialSuccess};
use crate::proxy::proxy_for;
use crate::url::CollectorUrl;
use percent_encoding::percent_decode_str;
use prost::Message;
use std::time::Duration;
use ureq::Agent;
use ureq::http::Response;

/// The most bytes of an answer that are read.
const ANSWER_BYTES: u64 = 64 << 10;
/// The most letters of what a Collector says.
const WORDS: usize = 200;

/// The meaning of an answer, or of none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The request was taken, except for as many spans or values as were rejected, and why.
    Taken { rejected: u64, why: Option<String> },
    /// The request may be tried again, after a time if the answer has one.
    TryLater { after: Option<Duration>, why: String },
    /// The request must not be tried again; nor further ones, if the Collector does not know such requests.
    Refused { is_for_good: bool, why: String },
}

/// A client of a Collector.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
    headers: Vec<(String, String)>,
}

impl Client {
    /// A client of a Collector. `headers` are as in `OTEL_EXPORTER_OTLP_HEADERS`.
    ///
    /// # Errors
    /// The headers are none, or the proxy that the environment names; the sentence says it.
    pub fn new(url: &CollectorUrl, headers: &str) -> Result<Client, String> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("wirelap/", env!("CARGO_PKG_VERSION")));
        let proxy = match url.uri().filter(|_| !url.is_here()) {
            Some(uri) => proxy_for(&uri, |name| std::env::var(name).ok())?,
            None => None,
        };
        let agent = config.proxy(proxy).build().into();
        Ok(Client { agent, headers: read_headers(headers)? })
    }

    /// Sends a message of OTLP, and waits so long for an answer at most.
    pub fn post(&self, url: &str, message: &impl Message, patience: Duration) -> Answer {
        let request = self.agent.post(url).config().timeout_global(Some(patience)).build();
        let mut request = request.header("content-type", "application/x-protobuf");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        match request.send(message.encode_to_vec().as_slice()) {
            Ok(mut response) => {
                let body = response.body_mut().with_config().limit(ANSWER_BYTES).read_to_vec();
                meaning(&response, &body.unwrap_or_default())
            }
            Err(error) => Answer::TryLater { after: None, why: unanswered(&error) },
        }
    }
}

/// The reason why no answer came, in words.
fn unanswered(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "no answer in time".into(),
        // The number of the system's error says nothing to a reader, and its kind everything.
        ureq::Error::Io(error) if error.raw_os_error().is_some() => error.kind().to_string(),
        ureq::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// The meaning of an answer, by the specification of OTLP over HTTP.
fn meaning<B>(response: &Response<B>, body: &[u8]) -> Answer {
    let status = response.status();
    if status.is_success() {
        let answer = ExportResponse::decode(body).unwrap_or_default();
        let PartialSuccess { rejected, error_message } = answer.partial_success.unwrap_or_default();
        let why = Some(error_message.chars().take(WORDS).collect::<String>());
        return Answer::Taken {
            rejected: u64::try_from(rejected).unwrap_or(0),
            why: why.filter(|why| !why.is_empty()),
        };
    }
    let why = format!("the Collector answers {status}");
    if matches!(status.as_u16(), 429 | 502 | 503 | 504) {
        let after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let after = after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        return Answer::TryLater { after, why };
    }
    Answer::Refused { is_for_good: matches!(status.as_u16(), 404 | 405 | 501), why }
}

/// Headers in the form of the SDKs' environment variable: `name=value,name=value`, with `%20` for what cannot stand there.
fn read_headers(text: &str) -> Result<Vec<(String, String)>, String> {
    let wrong = || {
        "OTEL_EXPORTER_OTLP_HEADERS must be like name=value,name=value, with names and values that HTTP allows".to_owned()
    };
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    let read = |pair: &str| {
        let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
        let value = percent_decode_str(value.trim()).decode_utf8().map_err(|_| wrong())?;
        let name = name.trim();
        let is_allowed = ureq::http::HeaderName::try_from(name).is_ok()
            && ureq::http::HeaderValue::try_from(value.as_ref()).is_ok();
        if is_allowed { Ok((name.to_owned(), value.into_owned())) } else { Err(wrong()) }
    };
    pairs.map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, retry_after: Option<&str>, body: &[u8]) -> Answer {
        let mut response = Response::builder().status(status);
        if let Some(value) = retry_after {
            response = response.header("retry-after", value);
        }
        meaning(&response.body(()).unwrap(), body)
    }

    #[test]
    fn only_some_statuses_are_tried_again() {
        for status in [429, 502, 503, 504] {
            assert!(matches!(answer(status, None, b""), Answer::TryLater { after: None, .. }));
        }
        for status in [301, 400, 401, 403, 404, 405, 413, 500, 501] {
            let Answer::Refused { is_for_good, .. } = answer(status, Some("3"), b"") else {
                panic!("{status}")
            };
            assert_eq!(is_for_good, [404, 405, 501].contains(&status), "{status}");
        }
        assert_eq!(answer(200, None, b""), Answer::Taken { rejected: 0, why: None });
        assert_eq!(answer(200, None, b"no protobuf"), Answer::Taken { rejected: 0, why: None });
    }

    #[test]
    fn an_answer_says_when_to_come_again() {
        let after = |text| match answer(503, Some(text), b"") {
            Answer::TryLater { after, .. } => after,
            other => panic!("{other:?}"),
        };
        assert_eq!(after(" 120 "), Some(Duration::from_mins(2)));
        for text in
            ["-1", "soon", "1e9", "99999999999999999999999", "Fri, 31 Dec 1999 23:59:59 GMT"]
        {
            assert_eq!(after(text), None, "{text}");
        }
    }

    #[test]
    fn rejected_spans_are_read_and_words_are_short() {
        let partial = PartialSuccess { rejected: 3, error_message: "x".repeat(10_000) };
        let body = ExportResponse { partial_success: Some(partial) }.encode_to_vec();
        let why = Some("x".repeat(WORDS));
        assert_eq!(answer(200, None, &body), Answer::Taken { rejected: 3, why });
        let partial = PartialSuccess { rejected: -3, error_message: String::new() };
        let body = ExportResponse { partial_success: Some(partial) }.encode_to_vec();
        assert_eq!(answer(200, None, &body), Answer::Taken { rejected: 0, why: None });
    }

    #[test]
    fn headers_are_as_the_sdks_have_them() {
        let read = read_headers("api-key=a%20b, authorization = Basic%20eA==,").unwrap();
        let wanted = [("api-key", "a b"), ("authorization", "Basic eA==")];
        assert_eq!(read, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(read_headers(""), Ok(Vec::new()));
        for wrong in ["key", "a b=c", "a=%0d%0ax: y", "=x"] {
            let why = read_headers(wrong).unwrap_err();
            assert!(why.contains("OTEL_EXPORTER_OTLP_HEADERS") && !why.contains('%'), "{wrong}");
        }
    }
}
