//! The head of an HTTP request, and what is answered.

use crate::exposition::Format;

/// The most bytes of a request's head.
pub const MAX_HEAD: usize = 8_192;
/// The most header fields of a request.
const MAX_FIELDS: usize = 64;
/// The path of the metrics.
const PATH: &str = "/metrics";

/// The request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// The metrics in a form; false if only the head of the answer is wanted.
    Metrics(Format, bool),
    /// The page that names the path of the metrics.
    Index,
    /// Something that is answered with this status.
    Refused(&'static str),
}

/// Reads what has come so far; `None` while the head is not complete.
pub fn read(bytes: &[u8]) -> Option<Request> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    match head.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if bytes.len() < MAX_HEAD => return None,
        Ok(httparse::Status::Partial) => {
            return Some(Request::Refused("431 Request Header Fields Too Large"));
        }
        Err(_) => return Some(Request::Refused("400 Bad Request")),
    }
    let with_body = match head.method {
        Some("GET") => true,
        Some("HEAD") => false,
        _ => return Some(Request::Refused("405 Method Not Allowed")),
    };
    let path = head.path.unwrap_or_default();
    Some(match path.split_once('?').map_or(path, |(path, _)| path) {
        PATH => {
            let accept =
                head.headers.iter().find(|field| field.name.eq_ignore_ascii_case("accept"));
            let accept = accept.and_then(|field| std::str::from_utf8(field.value).ok());
            Request::Metrics(Format::accepted(accept.unwrap_or_default()), with_body)
        }
        "/" => Request::Index,
        _ => Request::Refused("404 Not Found"),
    })
}

/// The head of an answer. The connection ends with it.
pub fn head(status: &str, media_type: &str, length: usize) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
}

/// The page that names the path of the metrics.
pub const INDEX: &str = "wirelap: metrics are at /metrics\n";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_is_read_when_its_head_is_complete() {
        assert_eq!(read(b"GET /metrics HTTP/1.1\r\nHost: x\r\n"), None);
        let asked = |text: &str| read(text.as_bytes()).unwrap();
        assert_eq!(asked("GET /metrics HTTP/1.1\r\n\r\n"), Request::Metrics(Format::Text, true));
        let accept = "HEAD /metrics?x=1 HTTP/1.0\r\naCCept: application/openmetrics-text\r\n\r\n";
        assert_eq!(asked(accept), Request::Metrics(Format::OpenMetrics, false));
        assert_eq!(asked("GET / HTTP/1.1\r\n\r\n"), Request::Index);
        assert!(
            matches!(asked("POST /metrics HTTP/1.1\r\n\r\n"), Request::Refused(status) if status.starts_with("405"))
        );
        assert!(
            matches!(asked("GET /other HTTP/1.1\r\n\r\n"), Request::Refused(status) if status.starts_with("404"))
        );
        let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "y".repeat(MAX_HEAD));
        assert!(matches!(asked(&long), Request::Refused(status) if status.starts_with("431")));
        assert!(
            matches!(read(b"\0\r\n\r\n"), Some(Request::Refused(status)) if status.starts_with("400"))
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..9_000)) {
            let _ = read(&bytes);
        }
    }
}
