//! Cyclone DDS through the bindings of `cyclors`. Calls into a workload's C library are the one exception to the rule that
//! unsafe code is in `tracer/capture` only.
//!
//! Samples are written and taken as serialised CDR, without a generated type. The type on the wire is
//! one unbounded sequence of octets (RTPS 2.x, section 10; CDR little-endian):
//!
//! ```text
//! +------+------+------+------+---------------------+---------------+-----------+
//! | 0x00 | 0x01 | 0x00 | pad  | length u32 (LE)     | length octets | pad bytes |
//! +------+------+------+------+---------------------+---------------+-----------+
//! ```
//! `pad` (0 to 3) fills up to a multiple of 4 and stands in the options, as DDS-XTypes 1.3, 7.6.3.1.2 has it.
#![allow(unsafe_code)] // Cyclone DDS is a C library, and cyclors exports its functions as they are.

use anyhow::{Result, anyhow, bail};
use cyclors as c;
use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};
use wirelap_events::Nanos;
use wirelap_harness::clock;

/// Encapsulation header and sequence length.
const HEADER: usize = 8;
const TAKE_AT_ONCE: u32 = 32;
const TYPE_NAME: &CStr = c"wirelap::Octets";

/// Last log line of Cyclone: its return codes alone do not say what is wrong.
static LAST_LOG: Mutex<String> = Mutex::new(String::new());

/// Called with each payload, and the time at which Cyclone's callback began.
pub type OnData = Box<dyn Fn(Nanos, &[u8]) + Send + Sync>;
/// Called with the number of matched peers whenever it changes.
pub type OnMatch = Box<dyn Fn(u32) + Send + Sync>;

/// The policies of a writer or reader.
#[derive(Clone, Copy)]
pub struct Qos {
    /// `RELIABLE`, or `BEST_EFFORT`.
    pub reliable: bool,
    /// `KEEP_ALL`, or `KEEP_LAST` 1.
    pub keep_all: bool,
    /// Longest time that a write waits for a reader that is behind.
    pub max_blocking: Nanos,
}

/// Why a write did not happen.
pub enum WriteError {
    /// A reader is behind for longer than `max_blocking`.
    Timeout,
    /// Anything else.
    Other(anyhow::Error),
}

/// A domain of its own configuration and a participant in it. Dropping it deletes all that it made.
pub struct DdsParticipant {
    domain: c::dds_entity_t,
    entity: c::dds_entity_t,
}

/// A data writer. Stays usable, to no effect, after its participant was dropped.
#[derive(Clone, Copy)]
pub struct DdsWriter {
    entity: c::dds_entity_t,
    sertype: SerType,
}

/// The type description that Cyclone made for a topic.
#[derive(Clone, Copy)]
struct SerType(*const c::ddsi_sertype);

// SAFETY: Cyclone never changes a sertype after its topic was created, counts references to it
// atomically, and is meant to be called from any thread.
unsafe impl Send for SerType {}
// SAFETY: as above.
unsafe impl Sync for SerType {}

/// The callbacks of one writer or reader. Leaked, so that they outlive every thread of Cyclone.
struct Callbacks {
    on_data: Option<OnData>,
    on_match: OnMatch,
}

impl DdsParticipant {
    /// Opens domain `domain` with the XML `config`, as `CYCLONEDDS_URI` would have it.
    pub fn open(domain: u32, config: &str) -> Result<DdsParticipant> {
        let config = CString::new(config)?;
        // SAFETY: the sinks are functions that live as long as the program, and use no argument.
        unsafe {
            c::dds_set_log_mask(c::DDS_LC_FATAL | c::DDS_LC_ERROR);
            c::dds_set_log_sink(Some(keep_log), ptr::null_mut());
        }
        // SAFETY: `config` is a terminated string, which Cyclone copies.
        let domain_entity = unsafe { c::dds_create_domain(domain, config.as_ptr()) };
        let domain_entity = check("cannot open the domain", domain_entity)?;
        // SAFETY: no policies and no listener are valid arguments.
        let entity = unsafe { c::dds_create_participant(domain, ptr::null(), ptr::null()) };
        let entity = check("cannot create a participant", entity).inspect_err(|_| {
            delete(domain_entity);
        })?;
        Ok(DdsParticipant { domain: domain_entity, entity })
    }

    /// Makes a writer for `topic`.
    pub fn writer(&self, topic: &str, qos: Qos, on_match: OnMatch) -> Result<DdsWriter> {
        let topic = self.topic(topic)?;
        let callbacks = leak(Callbacks { on_data: None, on_match });
        let entity = with_qos(qos, |qos| {
            with_listener(callbacks, |listener| {
                // SAFETY: all arguments are valid during the call, which copies policies and listener.
                unsafe { c::dds_create_writer(self.entity, topic, qos, listener) }
            })
        });
        let entity = check("cannot create a writer", entity)?;
        let mut sertype = ptr::null();
        // SAFETY: the writer exists, and `sertype` is a valid place for the result.
        let got = unsafe { c::dds_get_entity_sertype(entity, &raw mut sertype) };
        check("cannot find a writer's type", got)?;
        Ok(DdsWriter { entity, sertype: SerType(sertype) })
    }

    /// Makes a reader for `topic`. `on_data` runs on Cyclone's receive thread.
    pub fn reader(&self, topic: &str, qos: Qos, on_data: OnData, on_match: OnMatch) -> Result<()> {
        let topic = self.topic(topic)?;
        let callbacks = leak(Callbacks { on_data: Some(on_data), on_match });
        let entity = with_qos(qos, |qos| {
            with_listener(callbacks, |listener| {
                // SAFETY: all arguments are valid during the call, which copies policies and listener.
                unsafe { c::dds_create_reader(self.entity, topic, qos, listener) }
            })
        });
        check("cannot create a reader", entity).map(drop)
    }

    fn topic(&self, name: &str) -> Result<c::dds_entity_t> {
        let c_name = CString::new(name)?;
        // SAFETY: both names are terminated strings, which are copied and (in spite of the
        // signature) not written to.
        let topic = unsafe {
            let type_name = TYPE_NAME.as_ptr().cast_mut();
            c::cdds_create_blob_topic(self.entity, c_name.as_ptr().cast_mut(), type_name, true)
        };
        check(&format!("--topic {name}"), topic)
    }
}

impl Drop for DdsParticipant {
    fn drop(&mut self) {
        delete(self.entity);
        delete(self.domain);
    }
}

impl DdsWriter {
    /// Writes one payload.
    pub fn write(&self, payload: &[u8]) -> Result<(), WriteError> {
        let pad = payload.len().next_multiple_of(4) - payload.len();
        let header = header(payload.len(), pad).map_err(WriteError::Other)?;
        let part = |bytes: &[u8]| c::ddsrt_iovec_t {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        };
        let parts = [part(&header), part(payload), part(&[0; 3][..pad])];
        let size = HEADER + payload.len() + pad;
        // SAFETY: the parts are valid during the call, are copied and not written to, and are `size` bytes
        // together; the sertype lives as long as the participant, and as long as `self` is used by this crate.
        let sample = unsafe {
            let kind = c::ddsi_serdata_kind_SDK_DATA;
            c::ddsi_serdata_from_ser_iov(self.sertype.0, kind, parts.len(), parts.as_ptr(), size)
        };
        // SAFETY: `sample` is fresh, and the call takes over the only reference to it.
        let written = unsafe { c::dds_writecdr(self.entity, sample) };
        match written {
            c::DDS_RETCODE_TIMEOUT => Err(WriteError::Timeout),
            code => check("cannot write", code).map(drop).map_err(WriteError::Other),
        }
    }

    /// Waits until all readers have acknowledged everything. False when they did not in time.
    pub fn wait_for_acks(&self, limit: Nanos) -> Result<bool> {
        // SAFETY: no pointers are involved; a deleted entity is an error code.
        match unsafe { c::dds_wait_for_acks(self.entity, duration(limit)) } {
            c::DDS_RETCODE_TIMEOUT => Ok(false),
            code => check("cannot wait for acknowledgements", code).map(|_| true),
        }
    }
}

fn header(payload: usize, pad: usize) -> Result<[u8; HEADER]> {
    let [a, b, c, d] = u32::try_from(payload)?.to_le_bytes();
    Ok([0, 1, 0, u8::try_from(pad)?, a, b, c, d])
}

/// The payload in a serialised sample; `None` if it is not one of ours.
fn payload(sample: &[u8]) -> Option<&[u8]> {
    let (&[0, 1, _, _, a, b, c, d], rest) = sample.split_first_chunk::<HEADER>()? else {
        return None;
    };
    rest.get(..u32::from_le_bytes([a, b, c, d]) as usize)
}

fn leak(callbacks: Callbacks) -> *mut c_void {
    ptr::from_mut(Box::leak(Box::new(callbacks))).cast()
}

/// The callbacks behind a listener's argument.
///
/// # Safety
/// `argument` came from [`leak`].
unsafe fn callbacks<'a>(argument: *mut c_void) -> &'a Callbacks {
    // SAFETY: it was leaked, so it is there for good, and nobody has a mutable reference to it.
    unsafe { &*argument.cast::<Callbacks>() }
}

fn with_qos<T>(wanted: Qos, make: impl FnOnce(*const c::dds_qos_t) -> T) -> T {
    let reliability = if wanted.reliable {
        c::dds_reliability_kind_DDS_RELIABILITY_RELIABLE
    } else {
        c::dds_reliability_kind_DDS_RELIABILITY_BEST_EFFORT
    };
    let (history, depth) = if wanted.keep_all {
        (c::dds_history_kind_DDS_HISTORY_KEEP_ALL, 0)
    } else {
        (c::dds_history_kind_DDS_HISTORY_KEEP_LAST, 1)
    };
    // SAFETY: the policies are created, filled, used and deleted here, and nobody else has them.
    unsafe {
        let qos = c::dds_create_qos();
        c::dds_qset_reliability(qos, reliability, duration(wanted.max_blocking));
        c::dds_qset_history(qos, history, depth);
        let made = make(qos);
        c::dds_delete_qos(qos);
        made
    }
}

fn with_listener<T>(argument: *mut c_void, make: impl FnOnce(*const c::dds_listener_t) -> T) -> T {
    // SAFETY: `argument` came from `leak`, as the callbacks demand; the listener is created, used and
    // deleted here, and whoever used it has a copy.
    unsafe {
        let listener = c::dds_create_listener(argument);
        if callbacks(argument).on_data.is_some() {
            c::dds_lset_data_available(listener, Some(data_available));
            c::dds_lset_subscription_matched(listener, Some(subscription_matched));
        } else {
            c::dds_lset_publication_matched(listener, Some(publication_matched));
        }
        let made = make(listener);
        c::dds_delete_listener(listener);
        made
    }
}

unsafe extern "C" fn publication_matched(
    _writer: c::dds_entity_t,
    status: c::dds_publication_matched_status_t,
    argument: *mut c_void,
) {
    // SAFETY: Cyclone passes the listener's argument.
    let callbacks = unsafe { callbacks(argument) };
    (callbacks.on_match)(status.current_count);
}

unsafe extern "C" fn subscription_matched(
    _reader: c::dds_entity_t,
    status: c::dds_subscription_matched_status_t,
    argument: *mut c_void,
) {
    // SAFETY: Cyclone passes the listener's argument.
    let callbacks = unsafe { callbacks(argument) };
    (callbacks.on_match)(status.current_count);
}

unsafe extern "C" fn data_available(reader: c::dds_entity_t, argument: *mut c_void) {
    let mut at = clock::now();
    // SAFETY: Cyclone passes the listener's argument.
    let callbacks = unsafe { callbacks(argument) };
    loop {
        let mut samples = [ptr::null_mut::<c::ddsi_serdata>(); TAKE_AT_ONCE as usize];
        // SAFETY: `dds_sample_info` is plain numbers and a bool, for which zero is a value.
        let mut infos: [c::dds_sample_info_t; TAKE_AT_ONCE as usize] =
            unsafe { std::mem::zeroed() };
        // SAFETY: both arrays have room for as many entries as are asked for.
        let taken = unsafe {
            c::dds_takecdr(
                reader,
                samples.as_mut_ptr(),
                TAKE_AT_ONCE,
                infos.as_mut_ptr(),
                c::DDS_ANY_STATE,
            )
        };
        let taken = usize::try_from(taken).unwrap_or(0);
        for (sample, info) in samples.iter().zip(&infos).take(taken) {
            if info.valid_data {
                // SAFETY: `sample` was taken and not yet released.
                unsafe { visit(*sample, |payload| callbacks.deliver(at, payload)) };
            }
            // SAFETY: the call above gave us this reference.
            unsafe { c::ddsi_serdata_unref(*sample) };
            // For this callback the next message begins when the last one is done.
            at = clock::now();
        }
        if taken < TAKE_AT_ONCE as usize {
            return;
        }
    }
}

impl Callbacks {
    fn deliver(&self, at: Nanos, payload: &[u8]) {
        if let Some(on_data) = &self.on_data {
            on_data(at, payload);
        }
    }
}

/// Shows the payload of a sample.
///
/// # Safety
/// The caller has a reference to `sample`, which holds data.
unsafe fn visit(sample: *mut c::ddsi_serdata, see: impl FnOnce(&[u8])) {
    let mut bytes = c::ddsrt_iovec_t { iov_base: ptr::null_mut(), iov_len: 0 };
    // SAFETY: the sample is alive; `bytes` is filled with a view of it that lasts until it is given back, and
    // covers as many bytes as the sample has.
    unsafe {
        let size = c::ddsi_serdata_size(sample) as usize;
        let held = c::ddsi_serdata_to_ser_ref(sample, 0, size, &raw mut bytes);
        if !bytes.iov_base.is_null() {
            let view = std::slice::from_raw_parts(bytes.iov_base.cast::<u8>(), bytes.iov_len);
            if let Some(payload) = payload(view) {
                see(payload);
            }
        }
        c::ddsi_serdata_to_ser_unref(held, &raw const bytes);
    }
}

unsafe extern "C" fn keep_log(_argument: *mut c_void, entry: *const c::dds_log_data_t) {
    // SAFETY: Cyclone passes a valid entry, whose message is a terminated string.
    let message = unsafe { CStr::from_ptr((*entry).message) };
    let mut last = LAST_LOG.lock().unwrap_or_else(PoisonError::into_inner);
    message.to_string_lossy().trim().clone_into(&mut last);
}

fn delete(entity: c::dds_entity_t) {
    // SAFETY: no pointers are involved. It returns when no callback runs any more.
    unsafe { c::dds_delete(entity) };
}

fn duration(nanos: Nanos) -> c::dds_duration_t {
    i64::try_from(nanos.0).unwrap_or(i64::MAX)
}

/// An entity or a count, or what Cyclone has to say.
fn check(what: &str, code: i32) -> Result<i32> {
    if code >= 0 {
        return Ok(code);
    }
    // SAFETY: the result is a string that is never freed.
    let reason = unsafe { CStr::from_ptr(c::dds_strretcode(code)) }.to_string_lossy();
    let log = LAST_LOG.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if log.is_empty() {
        bail!("DDS: {what}: {reason}");
    }
    Err(anyhow!("DDS: {what}: {reason} ({log})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_what_decoders_expect() {
        assert_eq!(header(0x0102, 2).unwrap(), [0, 1, 0, 2, 2, 1, 0, 0]);
        assert_eq!(payload(&[0, 1, 0, 1, 3, 0, 0, 0, 7, 8, 9, 0]), Some(&[7, 8, 9][..]));
        assert_eq!(payload(&[0, 1, 0, 0, 3, 0, 0, 0, 7, 8]), None);
        assert_eq!(payload(&[0, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(payload(&[0, 1, 0]), None);
    }
}
