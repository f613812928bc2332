//! The topics of writers and readers, from `CREATE` (DDS-XRCE 1.0 §7.7.3, §8.3.5.2).
//!
//! ```text
//! +------------+-----------+------+--------+--------+------------+----------------+
//! | request, 2 | object, 2 | kind | format | pad, 2 | length u32 | representation |
//! +------------+-----------+------+--------+--------+------------+----------------+
//! format: 1 the name of a profile that the agent knows · 2 XML · 3 binary
//! ```

use crate::Reader;
use std::collections::{HashMap, VecDeque};
use wirelap_events::Size;

/// The most objects that are remembered; then the one that was created first is forgotten.
const MAX_OBJECTS: usize = 1024;

/// The longest name that is stored. DDS names have at most 255 characters.
const MAX_NAME_BYTES: usize = 256;

const TOPIC: u8 = 2;
const DATA_WRITER: u8 = 5;
const REPLIER: u8 = 8;

/// An object's ID, with its kind in the last four bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ObjectId(pub [u8; 2]);

impl ObjectId {
    pub fn kind(self) -> u8 {
        self.0[1] & 0x0F
    }

    /// The ID in hex, which is the topic of an object whose creation was not captured.
    pub fn hex(self) -> [u8; 6] {
        let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 0x0F)];
        let [a, b] = self.0;
        [b'0', b'x', digit(a >> 4), digit(a), digit(b >> 4), digit(b)]
    }
}

/// A session, and an object of it.
type ObjectKey = (u8, ObjectId);

/// Names by object.
#[derive(Debug, Default)]
pub(super) struct XrceObjects {
    names: HashMap<ObjectKey, Box<[u8]>>,
    /// The objects in the order in which they were created.
    order: VecDeque<ObjectKey>,
}

impl XrceObjects {
    /// An upper limit for the bytes of memory that the names use.
    pub fn held_bytes(&self) -> Size {
        Size(MAX_NAME_BYTES) * self.names.len()
    }

    /// The topic of an object.
    pub fn name(&self, session: u8, object: ObjectId) -> Option<&[u8]> {
        self.names.get(&(session, object)).map(|name| &**name)
    }

    /// Stores the topic in the body of a `CREATE`.
    pub fn create(&mut self, session: u8, little_endian: bool, body: &[u8]) {
        let Some((object, name)) = self.read(session, little_endian, body) else { return };
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return;
        }
        let key = (session, object);
        if self.names.insert(key, name.into()).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > MAX_OBJECTS
            && let Some(oldest) = self.order.pop_front()
        {
            self.names.remove(&oldest);
        }
    }

    fn read<'a>(
        &'a self,
        session: u8,
        little_endian: bool,
        body: &'a [u8],
    ) -> Option<(ObjectId, Vec<u8>)> {
        let mut reader = Reader::new(body);
        reader.skip(2)?;
        let object = ObjectId(reader.array()?);
        let (kind, format) = (reader.u8()?, reader.u8()?);
        if kind != TOPIC && !(DATA_WRITER..=REPLIER).contains(&kind) {
            return None;
        }
        reader.skip(2)?;
        let mut representation = string(&mut reader, little_endian)?;
        let name = match format {
            1 => reference(representation.rest()),
            2 => xml(representation.rest(), kind)?,
            3 if kind == TOPIC || kind > DATA_WRITER + 1 => {
                string(&mut representation, little_endian)?.rest()
            }
            3 => self.name(session, ObjectId(representation.array()?))?,
            _ => return None,
        };
        let end = name.iter().position(|byte| *byte == 0);
        Some((object, name.get(..end.unwrap_or(name.len()))?.to_vec()))
    }
}

/// Reads a string or a sequence of bytes.
fn string<'a>(reader: &mut Reader<'a>, little_endian: bool) -> Option<Reader<'a>> {
    let len = if little_endian { reader.u32_le()? } else { reader.u32_be()? };
    reader.sub(usize::try_from(len).ok()?)
}

/// The topic in a profile's name, which often is the topic with a suffix for the kind of object.
fn reference(name: &[u8]) -> &[u8] {
    let name = name.strip_suffix(b"\0").unwrap_or(name);
    let suffixes: [&[u8]; 3] = [b"__t", b"__dw", b"__dr"];
    suffixes.iter().find_map(|suffix| name.strip_suffix(*suffix)).unwrap_or(name)
}

/// The name of the topic or service in XML.
fn xml(text: &[u8], kind: u8) -> Option<&[u8]> {
    if kind > DATA_WRITER + 1 {
        return until(after(text, b"service_name=\"")?, b"\"");
    }
    let topic = after(text, b"<topic")?;
    until(after(topic, b"<name>")?, b"</name>").map(<[u8]>::trim_ascii)
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len()).position(|window| window == pattern)
}

fn after<'a>(text: &'a [u8], pattern: &[u8]) -> Option<&'a [u8]> {
    text.get(find(text, pattern)?.saturating_add(pattern.len())..)
}

fn until<'a>(text: &'a [u8], pattern: &[u8]) -> Option<&'a [u8]> {
    text.get(..find(text, pattern)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(object: [u8; 2], kind: u8, format: u8, representation: &[u8]) -> Vec<u8> {
        let mut body = vec![0, 1, object[0], object[1], kind, format, 0, 0];
        body.extend(u32::try_from(representation.len()).unwrap().to_le_bytes());
        body.extend(representation);
        body.extend([0, 0x11]);
        body
    }

    #[test]
    fn every_representation_names_a_topic() {
        let mut objects = XrceObjects::default();
        let mut learn = |object: [u8; 2], kind, format, representation: &[u8]| {
            objects.create(1, true, &created(object, kind, format, representation));
            objects.name(1, ObjectId(object)).map(|name| String::from_utf8_lossy(name).into_owned())
        };
        let writer = b"<dds><data_writer><topic><kind>NO_KEY</kind><name>Hello</name></topic>\0";
        assert_eq!(learn([0, 0x15], 5, 2, writer).as_deref(), Some("Hello"));
        assert_eq!(learn([0, 0x25], 5, 1, b"square__dw\0").as_deref(), Some("square"));
        assert_eq!(learn([0, 0x12], 2, 3, b"\x06\0\0\0World\0\0").as_deref(), Some("World"));
        assert_eq!(learn([0, 0x16], 6, 3, b"\0\x12\0").as_deref(), Some("World"));
        let replier =
            b"<dds><replier profile_name=\"p\" service_name=\"add\" request_type=\"r\">\0";
        assert_eq!(learn([0, 0x18], 8, 2, replier).as_deref(), Some("add"));
        assert_eq!(learn([0, 0x26], 6, 3, b"\0\x99\0"), None);
        assert_eq!(learn([0, 0x11], 1, 2, writer), None, "a participant has no topic");
    }

    #[test]
    fn the_table_is_bounded() {
        let mut objects = XrceObjects::default();
        for number in 0..=u16::try_from(MAX_OBJECTS).unwrap() {
            let object = number.to_be_bytes();
            objects.create(1, true, &created(object, 5, 1, b"t\0"));
            objects.create(1, true, &created(object, 5, 1, b"t\0"));
        }
        assert_eq!((objects.names.len(), objects.order.len()), (MAX_OBJECTS, MAX_OBJECTS));
        assert_eq!(ObjectId([0, 0x1F]).hex(), *b"0x001f");
    }
}
