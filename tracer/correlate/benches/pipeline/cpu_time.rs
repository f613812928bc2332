//! The thread's time on a CPU (`/proc/thread-self/schedstat`, first field: nanoseconds).

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};

/// Time that the thread ran.
pub struct CpuTime;

fn now() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat");
    let stat = stat.expect("the kernel keeps schedstat (CONFIG_SCHED_INFO)");
    let nanos = stat.split(' ').next().and_then(|field| field.parse().ok());
    nanos.expect("schedstat starts with a number")
}

impl Measurement for CpuTime {
    type Intermediate = u64;
    type Value = u64;

    fn start(&self) -> u64 {
        now()
    }

    fn end(&self, start: u64) -> u64 {
        now() - start
    }

    fn add(&self, a: &u64, b: &u64) -> u64 {
        a + b
    }

    fn zero(&self) -> u64 {
        0
    }

    fn to_f64(&self, value: &u64) -> f64 {
        *value as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Nanoseconds
    }
}

/// Writes nanoseconds as the wall clock's formatter does.
struct Nanoseconds;

impl ValueFormatter for Nanoseconds {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        WallTime.formatter().scale_values(typical, values)
    }

    fn scale_throughputs(&self, typical: f64, by: &Throughput, values: &mut [f64]) -> &'static str {
        WallTime.formatter().scale_throughputs(typical, by, values)
    }

    fn scale_for_machines(&self, values: &mut [f64]) -> &'static str {
        WallTime.formatter().scale_for_machines(values)
    }
}
