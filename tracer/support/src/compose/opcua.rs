//! Composes OPC UA messages.

/// A chunk of a MSG.
pub fn chunk(end: char, request: u32, body: &[u8]) -> Vec<u8> {
    let mut chunk = format!("MSG{end}").into_bytes();
    chunk.extend(u32::try_from(24 + body.len()).unwrap().to_le_bytes());
    for field in [7, 13, 1, request] {
        chunk.extend(field.to_le_bytes());
    }
    chunk.extend(body);
    chunk
}

/// A message in chunks with bodies of at most `len` bytes.
pub fn chunks(request: u32, body: &[u8], len: usize) -> Vec<Vec<u8>> {
    let pieces = body.len().div_ceil(len).max(1);
    let piece = |(index, piece): (usize, &[u8])| {
        let end = if index + 1 == pieces { 'F' } else { 'C' };
        chunk(end, request, piece)
    };
    body.chunks(len).enumerate().map(piece).collect()
}

fn service(id: u16) -> Vec<u8> {
    let mut body = vec![1, 0];
    body.extend(id.to_le_bytes());
    body
}

fn request(id: u16) -> Vec<u8> {
    let mut body = service(id);
    body.extend([0, 0]);
    body.extend([0; 16]);
    body.extend([0xFF; 4]);
    body.extend([0; 4]);
    body.extend([0, 0, 0]);
    body
}

fn response(id: u16) -> Vec<u8> {
    let mut body = service(id);
    body.extend([0; 16]);
    body.push(0);
    body.extend([0; 4]);
    body.extend([0, 0, 0]);
    body
}

fn count(n: usize) -> [u8; 4] {
    u32::try_from(n).unwrap().to_le_bytes()
}

/// `ns=1;i=NUMBER`.
fn node(number: u16) -> Vec<u8> {
    let mut bytes = vec![1, 1];
    bytes.extend(number.to_le_bytes());
    bytes
}

/// A `DataValue` with a `ByteString` and a status.
fn data_value(content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![3, 15];
    bytes.extend(count(content.len()));
    bytes.extend(content);
    bytes.extend([0; 4]);
    bytes
}

/// A `WriteRequest` of these values to `ns=1;i=1` and on.
pub fn write(values: &[&[u8]]) -> Vec<u8> {
    let mut body = request(673);
    body.extend(count(values.len()));
    for (number, value) in (1..).zip(values) {
        body.extend(node(number));
        body.extend(count(13));
        body.extend([0xFF; 4]);
        body.extend(data_value(value));
    }
    body
}

/// The start of a `CreateSessionRequest`, up to the session's name.
pub fn create_session(name: &str) -> Vec<u8> {
    let mut body = request(461);
    let text = |text: &str| [&count(text.len())[..], text.as_bytes()].concat();
    body.extend([text("urn:app"), text("urn:product")].concat());
    body.push(2);
    body.extend(text("App"));
    body.extend(count(1));
    body.extend([0xFF; 12]);
    body.extend([0xFF; 4]);
    body.extend(text("opc.tcp://127.0.0.1:4840"));
    body.extend(text(name));
    body
}

/// A `CreateMonitoredItemsRequest` for `ns=1;i=1` and on, with handles from 100 on.
pub fn monitor(subscription: u32, items: u16) -> Vec<u8> {
    let mut body = request(751);
    body.extend(subscription.to_le_bytes());
    body.extend([0; 4]);
    body.extend(count(items.into()));
    for number in 1..=items {
        body.extend(node(number));
        body.extend(count(13));
        body.extend([0xFF; 4]);
        body.extend([0, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
        body.extend(count(2));
        body.extend(count(99 + usize::from(number)));
        body.extend([0; 8]);
        body.extend([0, 0, 0]);
        body.extend([1, 0, 0, 0, 1]);
    }
    body
}

/// A `PublishResponse` with a notification for each list of handles and values, all with the sequence number 9.
pub fn publish(subscription: u32, notifications: &[&[(u32, &[u8])]]) -> Vec<u8> {
    publish_numbered(subscription, 9, notifications)
}

/// The same with this sequence number.
pub fn publish_numbered(
    subscription: u32,
    number: u32,
    notifications: &[&[(u32, &[u8])]],
) -> Vec<u8> {
    let mut body = response(829);
    body.extend(subscription.to_le_bytes());
    body.extend(count(1));
    body.extend([9, 0, 0, 0, 0]);
    body.extend(notification_message(number, notifications));
    body.extend([0; 8]);
    body
}

/// A `RepublishRequest` for a notification message of a subscription.
pub fn republish(subscription: u32, number: u32) -> Vec<u8> {
    let mut body = request(832);
    body.extend(subscription.to_le_bytes());
    body.extend(number.to_le_bytes());
    body
}

/// The `RepublishResponse`.
pub fn republished(number: u32, notifications: &[&[(u32, &[u8])]]) -> Vec<u8> {
    [response(835), notification_message(number, notifications)].concat()
}

fn notification_message(number: u32, notifications: &[&[(u32, &[u8])]]) -> Vec<u8> {
    let mut body = number.to_le_bytes().to_vec();
    body.extend([0; 8]);
    body.extend(count(notifications.len()));
    for changes in notifications {
        let mut inner = count(changes.len()).to_vec();
        for (handle, value) in *changes {
            inner.extend(handle.to_le_bytes());
            inner.extend(data_value(value));
        }
        inner.extend([0xFF; 4]);
        body.extend([1, 0, 0x2B, 3, 1]);
        body.extend(count(inner.len()));
        body.extend(inner);
    }
    body
}
