//! Composes Produce requests of version 9 and Fetch responses of version 12 and, with ids of topics, 13; and both of version 2,
//! with the messages that were there before record batches.

use super::varint;

fn i32_of(n: usize) -> [u8; 4] {
    i32::try_from(n).unwrap().to_be_bytes()
}

/// Bytes behind their length as a `VARINT`.
fn sized(bytes: &[u8]) -> Vec<u8> {
    [varint(2 * bytes.len()), bytes.to_vec()].concat()
}

/// A record without key and headers.
pub fn record(value: &[u8]) -> Vec<u8> {
    sized(&[b"\0\0\0\x01".to_vec(), sized(value), vec![0]].concat())
}

/// A record that is so many records behind the first one of its batch, without key and headers.
pub fn record_at(place: usize, value: &[u8]) -> Vec<u8> {
    sized(&[b"\0\0".to_vec(), varint(2 * place), b"\x01".to_vec(), sized(value), vec![0]].concat())
}

/// A record that is so many records behind the first one of its batch, and was made so many milliseconds after it, without key and headers.
pub fn record_after(place: usize, millis: usize, value: &[u8]) -> Vec<u8> {
    let places = [varint(2 * millis), varint(2 * place)].concat();
    sized(&[b"\0".to_vec(), places, b"\x01".to_vec(), sized(value), vec![0]].concat())
}

/// The same batch, whose first record was made so many milliseconds after 1970.
pub fn made_at(mut batch: Vec<u8>, millis: usize) -> Vec<u8> {
    batch[27..35].copy_from_slice(&i64_of(millis));
    batch
}

/// A batch of `count` records.
pub fn batch(count: usize, records: &[u8]) -> Vec<u8> {
    let mut batch = vec![0; 57];
    batch[8..12].copy_from_slice(&i32_of(49 + records.len()));
    batch[16] = 2;
    // No producer with numbers.
    batch[43..57].fill(0xFF);
    batch.extend(i32_of(count));
    batch.extend(records);
    batch
}

/// A batch of as many records of `len` bytes.
pub fn uniform(count: usize, len: usize) -> Vec<u8> {
    batch(count, &record(&vec![b'v'; len]).repeat(count))
}

fn pdu(body: &[u8]) -> Vec<u8> {
    [&i32_of(body.len()), body].concat()
}

/// An array with one entry that ends with no tags.
fn only(entry: &[u8]) -> Vec<u8> {
    [b"\x02", entry, b"\0"].concat()
}

/// A Produce request to `topic-0`, without acknowledgement.
pub fn produce(correlation_id: usize, topic: &str, batches: &[u8]) -> Vec<u8> {
    produce_to((0, 0), correlation_id, topic, batches)
}

/// A Produce request to a partition of a topic, with acknowledgement.
pub fn produce_acked(
    partition: usize,
    correlation_id: usize,
    topic: &str,
    batches: &[u8],
) -> Vec<u8> {
    produce_to((partition, 1), correlation_id, topic, batches)
}

/// The response to it, with the offset of the first record, or an error.
pub fn produced(
    partition: usize,
    correlation_id: usize,
    topic: &str,
    base_offset: Result<usize, u8>,
) -> Vec<u8> {
    let error = [0, base_offset.err().unwrap_or(0)];
    let base_offset = base_offset.map_or([0xFF; 8], i64_of);
    let partition =
        [&i32_of(partition)[..], &error, &base_offset, &[0xFF; 8], &[0; 8], b"\x01\0"].concat();
    let topics = only(&[named(topic), only(&partition)].concat());
    pdu(&[&i32_of(correlation_id)[..], b"\0", &topics, &[0; 5]].concat())
}

fn produce_to(
    (partition, acks): (usize, u8),
    correlation_id: usize,
    topic: &str,
    batches: &[u8],
) -> Vec<u8> {
    let records = [varint(batches.len() + 1), batches.to_vec()].concat();
    let partitions = only(&[&i32_of(partition)[..], &records].concat());
    let name = [varint(topic.len() + 1), topic.into()].concat();
    let topics = only(&[name, partitions].concat());
    let head = [b"\0\0\0\x09", &i32_of(correlation_id)[..], b"\0\x05maker\0\0\0", &[acks], &[0; 4]]
        .concat();
    pdu(&[head, topics, vec![0]].concat())
}

/// A Fetch request; its body does not matter.
pub fn fetch(correlation_id: usize) -> Vec<u8> {
    fetch_of(12, correlation_id)
}

/// A Fetch request that is answered with the ids of topics.
pub fn fetch_by_id(correlation_id: usize) -> Vec<u8> {
    fetch_of(13, correlation_id)
}

/// A Fetch request of a consumer that takes what is committed only.
pub fn fetch_committed(correlation_id: usize) -> Vec<u8> {
    let head = [b"\0\x01\0\x0c", &i32_of(correlation_id)[..], b"\0\x05maker\0"].concat();
    let limits = [&[0xFF; 4][..], &i32_of(500), &i32_of(1), &i32_of(1 << 20), &[1]].concat();
    pdu(&[&head[..], &limits, &[0; 4], &[0xFF; 4], b"\x01\x01\x01\0"].concat())
}

/// A Fetch request, outside of a session, for `topic-0` from an offset on.
pub fn fetch_from(correlation_id: usize, topic: &str, offset: usize) -> Vec<u8> {
    let limits = [&[0xFF; 4][..], &i32_of(500), &i32_of(1), &i32_of(1 << 20), &[0]].concat();
    let place = [&i32_of(0)[..], &[0xFF; 4], &i64_of(offset), &[0xFF; 12], &i32_of(1 << 20)];
    let topics = only(&[named(topic), only(&place.concat())].concat());
    let session = [&[0; 4][..], &[0xFF; 4]].concat();
    let head = head(1, 12, "maker", correlation_id);
    pdu(&[&head[..], &limits, &session, &topics, b"\x01\x01\0"].concat())
}

/// A request for the offsets that a group has committed.
pub fn offset_fetch(correlation_id: usize, group: &str) -> Vec<u8> {
    let head = head(9, 7, "maker", correlation_id);
    pdu(&[&head[..], &named(group), b"\0\0\0"].concat())
}

/// The response to [`offset_fetch`]: an offset of `topic-0`; `None` if the group has committed none.
pub fn offset_fetched(correlation_id: usize, topic: &str, offset: Option<usize>) -> Vec<u8> {
    let offset = offset.map_or([0xFF; 8], i64_of);
    let partition = [&i32_of(0)[..], &offset, &[0xFF; 4], b"\0\0\0"].concat();
    let topics = only(&[named(topic), only(&partition)].concat());
    pdu(&[&i32_of(correlation_id)[..], &[0; 5], &topics, b"\0\0\0"].concat())
}

/// A batch whose first record has this offset.
pub fn at_offset(mut batch: Vec<u8>, offset: usize) -> Vec<u8> {
    batch[..8].copy_from_slice(&i64_of(offset));
    batch
}

fn i64_of(n: usize) -> [u8; 8] {
    i64::try_from(n).unwrap().to_be_bytes()
}

/// A name behind its length.
fn named(name: &str) -> Vec<u8> {
    [varint(name.len() + 1), name.into()].concat()
}

/// A batch of a transaction.
pub fn transactional(mut batch: Vec<u8>) -> Vec<u8> {
    batch[22] |= 0x10;
    batch
}

fn fetch_of(version: u8, correlation_id: usize) -> Vec<u8> {
    let head = [b"\0\x01\0", &[version][..], &i32_of(correlation_id)].concat();
    pdu(&[&head[..], b"\0\x05maker\0\0\0"].concat())
}

/// A response to a Fetch request, of `topic-0`.
pub fn fetched(correlation_id: usize, topic: &str, batches: &[u8]) -> Vec<u8> {
    let name = [varint(topic.len() + 1), topic.into()].concat();
    response(correlation_id, &name, batches)
}

/// A response with the id of the topic.
pub fn fetched_by_id(correlation_id: usize, id: [u8; 16], batches: &[u8]) -> Vec<u8> {
    response(correlation_id, &id, batches)
}

fn response(correlation_id: usize, topic: &[u8], batches: &[u8]) -> Vec<u8> {
    let records = [varint(batches.len() + 1), batches.to_vec()].concat();
    let partition = [&i32_of(0)[..], &[0; 26], b"\x01\xff\xff\xff\xff", &records].concat();
    let topics = only(&[topic, &only(&partition)].concat());
    pdu(&[&i32_of(correlation_id)[..], &[0; 11], &topics, b"\0"].concat())
}

/// A response to a Fetch request: `topic-0` does not have the offset that was asked for, and `topic-1` has nothing.
pub fn fetched_out_of_range(correlation_id: usize, topic: &str) -> Vec<u8> {
    let partition = |index, error: u8, known: [u8; 8]| {
        let offsets = [known; 3].concat();
        [&i32_of(index)[..], &[0, error], &offsets, b"\x01\xff\xff\xff\xff\x01\0"].concat()
    };
    let partitions = [partition(0, 1, [0xFF; 8]), partition(1, 0, [0; 8])].concat();
    let topics = only(&[named(topic), vec![3], partitions].concat());
    pdu(&[&i32_of(correlation_id)[..], &[0; 11], &topics, b"\0"].concat())
}

/// A Metadata request for no topic of a client with this name.
pub fn metadata_of(client: &str, correlation_id: usize) -> Vec<u8> {
    pdu(&[&head(3, 9, client, correlation_id)[..], b"\x01\0\0\0\0"].concat())
}

/// A Fetch request of a client with this name; its body does not matter.
pub fn fetch_of_client(client: &str, correlation_id: usize) -> Vec<u8> {
    pdu(&[&head(1, 12, client, correlation_id)[..], b"\0"].concat())
}

/// A Heartbeat request of a member of a group.
pub fn heartbeat_of(client: &str, group: &str, correlation_id: usize) -> Vec<u8> {
    let group = [varint(group.len() + 1), group.into()].concat();
    let head = head(12, 4, client, correlation_id);
    pdu(&[&head[..], &group, &i32_of(1), b"\x02m\0\0"].concat())
}

/// The header of a request in a flexible version.
fn head(key: u8, version: u8, client: &str, correlation_id: usize) -> Vec<u8> {
    let len = u16::try_from(client.len()).unwrap().to_be_bytes();
    let id = i32_of(correlation_id);
    [&[0, key, 0, version][..], &id, &len, client.as_bytes(), &[0]].concat()
}

/// A Heartbeat request, which no Produce request is mistaken for.
pub fn heartbeat(correlation_id: usize) -> Vec<u8> {
    let head = [b"\0\x0c\0\x04", &i32_of(correlation_id)[..], b"\0\x05maker\0"].concat();
    pdu(&[&head[..], b"\x02g", &i32_of(1), b"\x02m\0\0"].concat())
}

/// A message of the format before record batches, without a key: version 0, or 1 with a timestamp.
pub fn old_message(magic: u8, offset: usize, value: &[u8]) -> Vec<u8> {
    old_message_of(magic, 0, offset, value)
}

/// Such a message that contains others, in raw snappy without compression.
pub fn old_compressed(magic: u8, offset: usize, messages: &[u8]) -> Vec<u8> {
    let len = messages.len();
    // A literal whose length is in two bytes (snappy's format description, "Literals").
    let literal = u16::try_from(len - 1).unwrap().to_le_bytes();
    let packed = [&varint(len)[..], &[61 << 2], &literal, messages].concat();
    old_message_of(magic, 2, offset, &packed)
}

fn old_message_of(magic: u8, codec: u8, offset: usize, value: &[u8]) -> Vec<u8> {
    let time: &[u8] = if magic == 0 { b"" } else { b"\0\0\x01\x8f\0\0\0\0" };
    let value = [&i32_of(value.len())[..], value].concat();
    let body = [b"\xc0\xff\xee\0", &[magic, codec][..], time, &[0xFF; 4], &value].concat();
    [&i64_of(offset)[..], &i32_of(body.len()), &body].concat()
}

/// A Produce request of version 2 to `topic-0`.
pub fn old_produce(correlation_id: usize, topic: &str, messages: &[u8]) -> Vec<u8> {
    let head = [&old_head(0, correlation_id)[..], b"\0\x01\0\0\x75\x30"].concat();
    let partition = [&i32_of(0)[..], &i32_of(messages.len()), messages].concat();
    pdu(&[head, old_topic(topic, &partition)].concat())
}

/// The response to [`old_produce`].
pub fn old_produced(correlation_id: usize, topic: &str, base_offset: usize) -> Vec<u8> {
    let partition = [&i32_of(0)[..], b"\0\0", &i64_of(base_offset), &[0xFF; 8]].concat();
    pdu(&[&i32_of(correlation_id)[..], &old_topic(topic, &partition), &[0; 4]].concat())
}

/// A Fetch request of version 2 for `topic-0`.
pub fn old_fetch(correlation_id: usize, topic: &str, offset: usize) -> Vec<u8> {
    let limits = [&[0xFF; 4][..], &i32_of(500), &i32_of(1)].concat();
    let partition = [&i32_of(0)[..], &i64_of(offset), &i32_of(1 << 20)].concat();
    pdu(&[old_head(1, correlation_id), limits, old_topic(topic, &partition)].concat())
}

/// The response to [`old_fetch`].
pub fn old_fetched(correlation_id: usize, topic: &str, messages: &[u8]) -> Vec<u8> {
    let partition = [&i32_of(0)[..], b"\0\0", &i64_of(99), &i32_of(messages.len()), messages];
    let throttle = [0; 4];
    pdu(&[&i32_of(correlation_id)[..], &throttle, &old_topic(topic, &partition.concat())].concat())
}

/// The header of a request of version 2.
fn old_head(key: u8, correlation_id: usize) -> Vec<u8> {
    [&[0, key, 0, 2][..], &i32_of(correlation_id), b"\0\x05maker"].concat()
}

/// One topic with one partition, in a version that is not flexible.
fn old_topic(topic: &str, partition: &[u8]) -> Vec<u8> {
    let len = u16::try_from(topic.len()).unwrap().to_be_bytes();
    [&i32_of(1)[..], &len, topic.as_bytes(), &i32_of(1), partition].concat()
}

/// A request of a share group's member, in this version.
pub fn share_fetch_in(version: u8, correlation_id: usize, group: &str) -> Vec<u8> {
    let limits = [i32_of(1), i32_of(500), i32_of(1), i32_of(1 << 20), i32_of(500), i32_of(500)];
    let limits = if version == 0 { &limits[..4] } else { &limits };
    let head = head(78, version, "maker", correlation_id);
    pdu(&[&head[..], &named(group), &named("member"), &limits.concat(), b"\x01\x01\0"].concat())
}

/// The same in version 1.
pub fn share_fetch(correlation_id: usize, group: &str) -> Vec<u8> {
    share_fetch_in(1, correlation_id, group)
}

/// The response to a `ShareFetch`, of partition 0 of a topic, with the first and last offsets of the records that are the member's, and how many times
/// they were given to one.
pub fn share_fetched(
    correlation_id: usize,
    id: [u8; 16],
    batches: &[u8],
    acquired: &[(usize, usize, u8)],
) -> Vec<u8> {
    share_fetched_in(1, correlation_id, id, batches, acquired)
}

/// The same in this version.
pub fn share_fetched_in(
    version: u8,
    correlation_id: usize,
    id: [u8; 16],
    batches: &[u8],
    acquired: &[(usize, usize, u8)],
) -> Vec<u8> {
    let ranges = acquired.iter().flat_map(|&(first, last, count)| {
        [&i64_of(first)[..], &i64_of(last), &[0, count, 0]].concat()
    });
    let acquired = [varint(acquired.len() + 1), ranges.collect()].concat();
    let records = [varint(batches.len() + 1), batches.to_vec()].concat();
    let head = [&i32_of(0)[..], &[0; 6], &[0; 9]].concat();
    let partitions = only(&[head, records, acquired].concat());
    let topics = only(&[&id[..], &partitions].concat());
    let lock = if version == 0 { vec![] } else { i32_of(30_000).to_vec() };
    let start = [&i32_of(correlation_id)[..], &[0; 8], &lock].concat();
    pdu(&[&start[..], &topics, b"\x01\0"].concat())
}
