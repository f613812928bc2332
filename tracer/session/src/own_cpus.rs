//! Keeps a thread of the tracer off the CPUs that traced programs are pinned to, as long as others are free.

use rustix::thread::{CpuSet, Pid as OsPid, sched_getaffinity, sched_setaffinity};
use std::time::{Duration, Instant};
use wirelap_events::Pid;

/// Interval at which the CPUs of the programs are read again.
const EVERY: Duration = Duration::from_secs(5);

/// The most programs whose CPUs are read at once.
const MOST: usize = 256;

/// The CPUs of one thread.
#[derive(Debug, Default)]
pub struct OwnCpus {
    /// Those that the user lets it have.
    all: Option<CpuSet>,
    /// Time at which the programs' CPUs were read last.
    read: Option<Instant>,
}

impl OwnCpus {
    /// Moves the calling thread off the CPUs that these programs are pinned to, or back, if the last look was long ago. A
    /// program that may use every CPU which this thread may use is not pinned.
    pub fn avoid(&mut self, programs: impl Iterator<Item = Pid>) {
        if self.read.is_some_and(|read| read.elapsed() < EVERY) {
            return;
        }
        // Where there is none yet, the first one is looked at as soon as it comes.
        let mut programs = programs.take(MOST).peekable();
        self.read = programs.peek().map(|_| Instant::now());
        let Some(all) = self.all.or_else(|| sched_getaffinity(None).ok()) else { return };
        self.all = Some(all);
        let mut left = all;
        for program in programs {
            let pid = i32::try_from(program.0).ok().and_then(OsPid::from_raw);
            // One that has ended is pinned to nothing.
            let Some(its) = pid.and_then(|pid| sched_getaffinity(Some(pid)).ok()) else { continue };
            let is_pinned = cpus(&all).any(|cpu| !its.is_set(cpu));
            if is_pinned {
                cpus(&its).for_each(|cpu| left.unset(cpu));
            }
        }
        if cpus(&left).next().is_none() {
            left = all;
        }
        if sched_getaffinity(None).is_ok_and(|now| now != left)
            && let Err(error) = sched_setaffinity(None, &left)
        {
            tracing::debug!("cannot leave the CPUs that programs are pinned to: {error}");
        }
    }
}

/// The CPUs of a set.
fn cpus(set: &CpuSet) -> impl Iterator<Item = usize> {
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    /// A program that is pinned to some CPUs, or to none.
    fn program(pinned: Option<&CpuSet>) -> Child {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        if let Some(set) = pinned {
            let pid = OsPid::from_raw(i32::try_from(child.id()).unwrap());
            sched_setaffinity(pid, set).unwrap();
        }
        child
    }

    fn avoided(programs: &[&Child]) -> CpuSet {
        let mut own = OwnCpus { all: Some(sched_getaffinity(None).unwrap()), read: None };
        let all = own.all.unwrap();
        own.avoid(programs.iter().map(|program| Pid(program.id())));
        let now = sched_getaffinity(None).unwrap();
        sched_setaffinity(None, &all).unwrap();
        now
    }

    #[test]
    fn a_program_has_the_cpu_that_it_is_pinned_to_for_itself() {
        let all = sched_getaffinity(None).unwrap();
        let Some(first) = cpus(&all).next().filter(|_| cpus(&all).count() > 1) else { return };
        let (mut one, mut others) = (CpuSet::new(), all);
        one.set(first);
        others.unset(first);
        let mut programs = [program(Some(&one)), program(None), program(Some(&others))];
        let [pinned, free, rest] = &programs;
        assert_eq!(avoided(&[free]), all);
        assert_eq!(avoided(&[free, pinned]), others);
        assert_eq!(avoided(&[pinned, rest]), all, "no CPU is left");
        for program in &mut programs {
            program.kill().unwrap();
            program.wait().unwrap();
        }
    }
}
