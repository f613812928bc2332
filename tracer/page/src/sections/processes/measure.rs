//! The quantities that the charts of processes show: CPU share and memory.

use crate::write::tick_percent;
use wirelap_events::human::percent;
use wirelap_report::human;

/// A quantity of a `T`: a process in a repetition, or at a time.
pub struct ProcessMeasure<T> {
    /// The part of the chart's id.
    pub id: &'static str,
    /// The name in captions.
    pub name: &'static str,
    /// The title of the axis.
    pub axis: &'static str,
    /// The amount that 1 on the axis stands for, in the unit of the values.
    unit: f64,
    of: fn(&T) -> Option<f64>,
    /// The text of a tick, whose value is in the axis' unit.
    pub tick: fn(f64) -> String,
    /// The text of a value.
    format: fn(f64) -> String,
}

impl<T> ProcessMeasure<T> {
    /// The share of a CPU.
    pub fn cpu(of: fn(&T) -> Option<f64>) -> ProcessMeasure<T> {
        ProcessMeasure {
            id: "cpu",
            name: "CPU share",
            axis: "CPU share",
            unit: 1.0,
            of,
            tick: tick_percent,
            format: percent,
        }
    }

    /// The resident memory in bytes.
    pub fn memory(of: fn(&T) -> Option<f64>) -> ProcessMeasure<T> {
        ProcessMeasure {
            id: "memory",
            name: "resident memory",
            axis: "resident memory, MiB",
            unit: 1_048_576.0,
            of,
            tick: human::count,
            format: human::bytes,
        }
    }

    /// The value in the unit of the axis.
    pub fn on_axis(&self, of: &T) -> Option<f64> {
        Some((self.of)(of)? / self.unit)
    }

    /// The value in words.
    pub fn text(&self, of: &T) -> Option<String> {
        Some((self.format)((self.of)(of)?))
    }
}
