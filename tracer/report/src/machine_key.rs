//! The key of a machine in the state in which it measured: figures of two runs with different keys are not comparable.

use crate::Environment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use strum::IntoStaticStr;

/// What must be the same for two runs to be comparable, in named buckets. What is not known is empty or absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineKey {
    /// CPU model name; empty if it is not known.
    pub cpu_model: String,
    /// Logical CPUs that wirelap may use.
    pub cpus: usize,
    /// Major and minor number of the kernel: `6.18` of `6.18.5-amd64`; empty if it is not known.
    pub kernel_series: String,
    /// Frequency governor of CPU 0; absent on machines without frequency scaling.
    pub governor: Option<String>,
    /// The CPU's mitigations of hardware vulnerabilities, by vulnerability; empty if they are not known.
    pub mitigations: BTreeMap<String, String>,
    /// CPUs that the processes were pinned to, by role; empty if they were not pinned.
    pub pinning: BTreeMap<String, usize>,
}

/// A bucket of a [`MachineKey`]: its name in JSON.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Bucket {
    /// The CPU model.
    CpuModel,
    /// The number of CPUs.
    Cpus,
    /// The kernel's major and minor number.
    KernelSeries,
    /// The frequency governor.
    Governor,
    /// Mitigations of hardware vulnerabilities.
    Mitigations,
    /// Pinning to CPUs.
    Pinning,
}

impl Bucket {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A bucket in which two keys differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketDifference {
    /// The bucket.
    pub bucket: Bucket,
    /// The vulnerability, if the bucket is of mitigations.
    pub of: Option<String>,
    /// The first key's value.
    pub a: String,
    /// The second key's value.
    pub b: String,
}

impl MachineKey {
    /// The key of a machine with processes pinned like this.
    pub fn of(environment: &Environment, pin: &[(String, usize)]) -> MachineKey {
        MachineKey {
            cpu_model: environment.cpu_model.clone(),
            cpus: environment.cores,
            kernel_series: series(&environment.kernel).to_owned(),
            governor: environment.governor.clone(),
            mitigations: environment.mitigations.clone(),
            pinning: pin.iter().cloned().collect(),
        }
    }

    /// The buckets in which two keys differ, in the order of [`Bucket`]. What one of them does not know is no difference.
    pub fn differences(&self, other: &MachineKey) -> Vec<BucketDifference> {
        let governor = |key: &MachineKey| key.governor.clone().unwrap_or_else(|| NONE.into());
        let buckets = [
            (Bucket::CpuModel, self.cpu_model.clone(), other.cpu_model.clone()),
            (Bucket::Cpus, self.cpus.to_string(), other.cpus.to_string()),
            (Bucket::KernelSeries, self.kernel_series.clone(), other.kernel_series.clone()),
            (Bucket::Governor, governor(self), governor(other)),
        ];
        let mut found: Vec<BucketDifference> =
            buckets.into_iter().filter_map(|(bucket, a, b)| differ(bucket, None, a, b)).collect();
        found.extend(self.mitigations_unlike(other));
        found.extend(differ(Bucket::Pinning, None, self.pins(), other.pins()));
        found
    }

    fn mitigations_unlike(&self, other: &MachineKey) -> Vec<BucketDifference> {
        if self.mitigations.is_empty() || other.mitigations.is_empty() {
            return Vec::new();
        }
        let names: BTreeSet<&String> =
            self.mitigations.keys().chain(other.mitigations.keys()).collect();
        let value = |key: &MachineKey, name: &String| {
            key.mitigations.get(name).cloned().unwrap_or_else(|| "not known".into())
        };
        let each = names.into_iter().filter_map(|name| {
            differ(Bucket::Mitigations, Some(name.clone()), value(self, name), value(other, name))
        });
        each.collect()
    }

    fn pins(&self) -> String {
        if self.pinning.is_empty() {
            return NONE.into();
        }
        let each = self.pinning.iter().map(|(role, cpu)| format!("{role} on {cpu}"));
        each.collect::<Vec<_>>().join(", ")
    }
}

const NONE: &str = "none";

fn differ(bucket: Bucket, of: Option<String>, a: String, b: String) -> Option<BucketDifference> {
    (a != b && !a.is_empty() && !b.is_empty()).then_some(BucketDifference { bucket, of, a, b })
}

/// Major and minor number of a kernel: `6.18` of `6.18.5-amd64`.
fn series(kernel: &str) -> &str {
    let end = kernel.match_indices(['.', '-', '+']).nth(1).map(|(at, _)| at);
    end.and_then(|end| kernel.get(..end)).unwrap_or(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_of_kernels_is_two_numbers() {
        assert_eq!(
            ["6.18.5-amd64", "6.18", "6.18-rc1", "6", ""].map(series),
            ["6.18", "6.18", "6.18", "6", ""]
        );
    }

    #[test]
    fn each_bucket_that_differs_is_named_as_in_json() {
        let mitigations = |text: &str| BTreeMap::from([("meltdown".to_owned(), text.to_owned())]);
        let environment = |cpu: &str, kernel: &str, meltdown| Environment {
            cpu_model: cpu.into(),
            kernel: kernel.into(),
            cores: 2,
            mitigations: mitigations(meltdown),
            ..Environment::default()
        };
        let a = MachineKey::of(&environment("One", "6.18.5-amd64", "Vulnerable"), &[]);
        let pin = [("sender".to_owned(), 1)];
        let b = MachineKey::of(&environment("Two", "6.18.9", "Mitigation: PTI"), &pin);
        let found: Vec<_> = a.differences(&b).iter().map(|one| one.bucket).collect();
        assert_eq!(found, [Bucket::CpuModel, Bucket::Mitigations, Bucket::Pinning]);
        assert!(a.differences(&a).is_empty());
        let json = serde_json::to_value(&b).unwrap();
        for bucket in [
            Bucket::CpuModel,
            Bucket::Cpus,
            Bucket::KernelSeries,
            Bucket::Governor,
            Bucket::Mitigations,
            Bucket::Pinning,
        ] {
            assert!(json.get(bucket.name()).is_some(), "{}", bucket.name());
        }
    }

    #[test]
    fn what_is_not_known_is_no_difference() {
        let known = MachineKey { cpu_model: "One".into(), cpus: 2, ..MachineKey::default() };
        let unknown = MachineKey { cpus: 2, ..MachineKey::default() };
        assert!(known.differences(&unknown).is_empty());
    }
}
