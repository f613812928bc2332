//! The maps that the capture shares with the probes, by name.

use crate::CaptureError;
use aya::maps::{Array, MapData, MapError};
use aya::{Ebpf, Pod};

pub(super) fn array<'a, V: Pod>(
    ebpf: &'a mut Ebpf,
    name: &'static str,
) -> Result<Array<&'a mut MapData, V>, CaptureError> {
    let map = ebpf.map_mut(name).ok_or(CaptureError::NoMap(name))?;
    Array::try_from(map).map_err(map_error(name))
}

pub(super) fn map_error(map: &'static str) -> impl Fn(MapError) -> CaptureError {
    move |source| CaptureError::Map { map, source: Box::new(source) }
}
