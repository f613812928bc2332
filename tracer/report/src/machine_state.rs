//! The speed of the machine itself: reference measurements before each repetition, which know nothing of middlewares.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of the machine around one repetition. Two runs whose states differ were not measured on the same machine, even if
/// its name is the same: other guests of the host, heat and power limits change it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineState {
    /// Before the repetition: the median time of a datagram of 64 bytes over a Unix socket to a thread on another CPU and
    /// back, in nanoseconds, without probes. It contains two wake-ups. Absent if it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_ns: Option<u64>,
    /// Before the repetition: the median time in which one thread sends itself such a datagram and reads it, in nanoseconds,
    /// without probes. It contains no wake-up. Absent if it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_and_read_ns: Option<u64>,
    /// During the repetition: of the time in which something was ready to run on a CPU, the share in which the hypervisor ran
    /// something else, 0..=1 (`steal` of `/proc/stat`, proc(5), without idle time). Absent if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
}
