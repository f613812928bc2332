//! RTPS 2.x, the wire protocol of DDS.

/// RTPS 2.x, the wire protocol of DDS.
#[derive(Debug)]
pub struct Rtps;
