//! Words of `client_stalled`.

use super::VerdictWords;
use wirelap_events::OffCpuReason;

pub const WORDS: VerdictWords = VerdictWords {
    title: "client stalled off the CPU",
    short: "client stalled",
    means: "the client's thread slept, was blocked or stopped while data was waiting, before it requested more, or before it sent an acknowledgement for which its broker waited (MQTT, AMQP, JetStream)",
    evidence: "the off-CPU interval of its thread",
    helps: "what its event loop waits for",
    remedy: |circumstance| by_rest(circumstance.rest),
    ..VerdictWords::USUAL
};

const fn by_rest(rest: Option<OffCpuReason>) -> &'static str {
    match rest {
        Some(OffCpuReason::Stopped) => {
            "find who stops the client (SIGSTOP, a debugger, the cgroup freezer); `kill -CONT` lets it go on"
        }
        Some(OffCpuReason::Blocked) => {
            "look at what the reading thread waits for in the kernel, mostly its disk: write in another thread"
        }
        _ => {
            "do not sleep or block in the receiving thread: hand messages to another, or read more often"
        }
    }
}
