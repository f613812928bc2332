//! Loads the object and attaches each observation with its best hook.

use crate::error::find_io;
use crate::hooks::{
    AttachTime, ChosenHook, KernelObservation, OBSERVATIONS, ObservationHook, PAYLOAD_FROM_CGROUP,
    RefusedHook,
};
use crate::links::ProgramLinks;
use crate::object::{self, Symbols};
use crate::programs::{attach_hook, load_hook, unload_hook};
use crate::ring::{RingKind, ring_hook};
use crate::tls::{self, TlsWatch};
use crate::{AttachError, CaptureConfig, btf, filter, hooks, kernel, preemption};
use aya::{Btf, Ebpf, EbpfError, EbpfLoader};
use rustix::io::Errno;
use wirelap_events::TraceDetail;
use wirelap_process::rights::missing_to_attach;
use wirelap_process::{MemoryLimit, memory_limit};

/// The loaded object and its attached programs.
pub(crate) struct Attached {
    pub ebpf: Ebpf,
    pub links: ProgramLinks,
    pub hooks: Vec<ChosenHook>,
    /// True if the payload of a packet comes in a record of its own.
    pub joins_payload: bool,
    /// The hooks that are loaded and will be attached when they are needed.
    pub later: Vec<(AttachTime, &'static ObservationHook)>,
    /// Looks at the programs that open sockets, if the text of TLS is to be read.
    pub tls: Option<TlsWatch>,
}

pub(crate) fn attach(config: &CaptureConfig) -> Result<Attached, AttachError> {
    check(config)?;
    let types = btf::find(config.btf.as_deref())?;
    if !kernel::has_task_storage(&types.btf) {
        return Err(AttachError::TooOld);
    }
    let outside = (!types.is_own()).then(|| types.source.clone());
    attach_with(config, &types.btf).map_err(|error| error.with_types_of(outside))
}

/// Attaches each observation, with these types of the kernel.
fn attach_with(config: &CaptureConfig, btf: &Btf) -> Result<Attached, AttachError> {
    let symbols = Symbols::find(btf);
    let mut ebpf = load(config, btf, symbols)?;
    let mut links = ProgramLinks::new();
    let mut hooks = Vec::with_capacity(OBSERVATIONS.len() + 1);
    let mut later = Vec::new();
    for observation in OBSERVATIONS {
        let Some(when) = observation.attach_time(config) else { continue };
        let when = (when, &mut later);
        let chosen = choose(&mut ebpf, &mut links, btf, observation, when)?;
        if observation.required && chosen.hook.is_none() {
            let reason = chosen.refused.into_iter().next_back().map(|r| r.reason);
            return Err(AttachError::NothingAttached {
                observation: observation.name,
                reason: reason.unwrap_or_default(),
            });
        }
        hooks.push(chosen);
    }
    let mut payload = symbols.payload_hook();
    if symbols.payload_from_cgroup() {
        let hook = &PAYLOAD_FROM_CGROUP;
        if let Err(refused) =
            load_hook(&mut ebpf, btf, hook).and_then(|()| attach_hook(&mut ebpf, &mut links, hook))
        {
            unload_hook(&mut ebpf, &mut links, hook);
            if let Some(source) = refused.fatal_error(false) {
                return Err(AttachError::Refused { observation: payload.observation, source });
            }
            payload.hook = None;
            payload.without = object::ONLY_LINEAR;
            payload.refused.push(RefusedHook { hook: hook.name, reason: refused.reason });
        }
    }
    let joins_payload = payload.hook == Some(PAYLOAD_FROM_CGROUP.name);
    hooks.push(payload);
    hooks.push(symbols.interrupts_hook());
    hooks.push(kernel::quota_hook(btf));
    hooks.push(ring_hook(config));
    let mut tls = None;
    if config.tls {
        let (hook, watch) = tls::attach(&mut ebpf);
        hooks.push(hook);
        tls = watch;
    }
    Ok(Attached { ebpf, links, hooks, joins_payload, later, tls })
}

fn check(config: &CaptureConfig) -> Result<(), AttachError> {
    let missing = missing_to_attach();
    if !missing.is_empty() {
        return Err(AttachError::NoPrivileges { missing: missing.join(", ") });
    }
    if !kernel::proc_is_own() {
        return Err(AttachError::ForeignProc);
    }
    let page = u32::try_from(rustix::param::page_size()).unwrap_or(u32::MAX);
    if !config.ring_bytes.is_power_of_two() || config.ring_bytes < page {
        return Err(AttachError::BadRingSize(config.ring_bytes));
    }
    check_memory(config.ring_bytes, memory_limit())
}

/// The memory that attaching takes beside the ring buffer: 68 MiB on Linux 6.18, of which the kernel's types, the checks of the probes and their
/// maps are the most.
const ATTACHING: u64 = 72 << 20;

/// Refuses to attach where the kernel would end this process for the memory that it takes.
fn check_memory(ring_bytes: u32, limit: Option<MemoryLimit>) -> Result<(), AttachError> {
    let needed = ATTACHING.saturating_add(ring_bytes.into());
    match limit {
        Some(MemoryLimit { free, .. }) if free < needed => {
            Err(AttachError::LittleMemory { free, needed, ring_bytes })
        }
        _ => Ok(()),
    }
}

/// Connections that libraries of TLS may read from at the same time.
const TLS_SESSIONS: u32 = 1 << 16;

/// The maps with an entry for each of them, or for each thread that writes.
const TLS_MAPS: [&str; 3] = ["tls_sessions", "rustls_writes", "rustls_connections"];

fn load(config: &CaptureConfig, btf: &Btf, symbols: Symbols) -> Result<Ebpf, AttachError> {
    let ring = RingKind::choose(config);
    let object = object::patch(wirelap_ebpf::OBJECT, &symbols, ring);
    let globals = Globals::new(config, symbols, ring)?;
    let mut loader = EbpfLoader::new();
    loader
        .btf(Some(btf))
        .allow_unsupported_maps()
        .map_max_entries("ring", ring.kernels_bytes(config.ring_bytes));
    if config.tls {
        for map in TLS_MAPS {
            loader.map_max_entries(map, TLS_SESSIONS);
        }
    }
    globals.apply(&mut loader);
    loader.load(&object).map_err(|error| {
        if is_out_of_memory(&error) {
            AttachError::NoMemory { ring_bytes: config.ring_bytes }
        } else {
            AttachError::Load(Box::new(error))
        }
    })
}

fn is_out_of_memory(error: &EbpfError) -> bool {
    match find_io(error).and_then(Errno::from_io_error) {
        Some(Errno::NOMEM) => true,
        // Kernels before 5.11 account maps against RLIMIT_MEMLOCK.
        Some(Errno::PERM) => !kernel::kernel_at_least(5, 11),
        _ => false,
    }
}

/// The values of the object's `const volatile` globals.
struct Globals {
    bytes: Vec<(&'static str, u8)>,
    words: Vec<(&'static str, u32)>,
    preempt_count_distance: i32,
    cgroup: u64,
}

impl Globals {
    fn new(
        config: &CaptureConfig,
        symbols: Symbols,
        ring: RingKind,
    ) -> Result<Globals, AttachError> {
        let cgroup = config.cgroup.as_deref().map(filter::cgroup).transpose()?;
        let (preempt_count_in, preempt_count_distance) = symbols.preempt_count.globals();
        let syscall = |number: libc::c_long| u32::try_from(number).unwrap_or(u32::MAX);
        Ok(Globals {
            bytes: vec![
                ("filter_ports", u8::from(config.is_filtered())),
                ("filter_pids", u8::from(!config.pids.is_empty())),
                ("read_tls", u8::from(config.tls)),
                ("ends_only", u8::from(config.detail == TraceDetail::Ends)),
                ("stream_ready", u8::from(config.detail == TraceDetail::Full)),
                ("regs_are_arm64", u8::from(cfg!(target_arch = "aarch64"))),
                ("own_ring", u8::from(ring != RingKind::Kernel)),
                ("stores_are_unordered", u8::from(cfg!(not(target_arch = "x86_64")))),
                ("have_skb_dynptr", u8::from(symbols.dynptr_from_skb.is_some())),
                ("have_rdonly_cast", u8::from(symbols.rdonly_cast.is_some())),
                ("keeps_cpu", u8::from(preemption::keeps_cpu(config, symbols))),
                ("preempt_count_in", preempt_count_in),
                ("payload_from_cgroup", u8::from(symbols.payload_from_cgroup())),
                ("direct_loads", u8::from(kernel::kernel_at_least(6, 17))),
                ("switch_tells_state", u8::from(kernel::kernel_at_least(5, 18))),
                ("have_task_regs", u8::from(kernel::kernel_at_least(5, 15))),
            ],
            words: vec![
                ("filter_cgroup_level", cgroup.map_or(0, |c| c.level)),
                ("own_tgid", if config.exclude_self { std::process::id() } else { 0 }),
                ("own_pid_namespace", kernel::pid_namespace()),
                ("snap_bytes", config.snap_bytes.min(65_536)),
                ("ring_bytes", config.ring_bytes),
                ("wakeup_bytes", config.ring_bytes / 4),
                ("sys_sendto", syscall(libc::SYS_sendto)),
                ("sys_sendmsg", syscall(libc::SYS_sendmsg)),
                ("sys_sendmmsg", syscall(libc::SYS_sendmmsg)),
                ("sys_write", syscall(libc::SYS_write)),
                ("sys_writev", syscall(libc::SYS_writev)),
                ("sys_io_uring_enter", syscall(libc::SYS_io_uring_enter)),
            ],
            preempt_count_distance,
            cgroup: cgroup.map_or(0, |c| c.id),
        })
    }

    fn apply<'a>(&'a self, loader: &mut EbpfLoader<'a>) {
        for (name, value) in &self.bytes {
            loader.override_global(name, value, true);
        }
        for (name, value) in &self.words {
            loader.override_global(name, value, true);
        }
        loader.override_global("preempt_count_distance", &self.preempt_count_distance, true);
        loader.override_global("filter_cgroup", &self.cgroup, true);
    }
}

/// Chooses the first hook that the kernel accepts: loads it, and attaches it, or puts it into `later`.
fn choose(
    ebpf: &mut Ebpf,
    links: &mut ProgramLinks,
    btf: &Btf,
    observation: &KernelObservation,
    (when, later): (AttachTime, &mut Vec<(AttachTime, &'static ObservationHook)>),
) -> Result<ChosenHook, AttachError> {
    let mut chosen = ChosenHook::untried(observation);
    for hook in observation.hooks {
        let is_at_once = when.is_at_once() || is_exit_observed(hook, links);
        let loaded = load_hook(ebpf, btf, hook);
        let attached = loaded.and_then(|()| {
            if is_at_once {
                attach_hook(ebpf, links, hook)
            } else {
                later.push((when, hook));
                Ok(())
            }
        });
        match attached {
            Ok(()) => {
                chosen.hook = Some(hook.name);
                break;
            }
            Err(refused) => {
                unload_hook(ebpf, links, hook);
                if let Some(source) = refused.fatal_error(observation.required) {
                    return Err(AttachError::Refused { observation: observation.name, source });
                }
                let reason = refused.reason;
                tracing::debug!(
                    observation = observation.name,
                    hook = hook.name,
                    reason,
                    "refused"
                );
                chosen.refused.push(RefusedHook { hook: hook.name, reason });
            }
        }
    }
    Ok(chosen)
}

/// True if a program is attached to the exit of a function whose entry this hook observes. Then the hook must not be attached when
/// messages are traced: whenever the programs of a function change, the kernel lets the calls in progress pass over those at its exit, and
/// does not count that (`kernel/bpf/trampoline.c`, `bpf_tramp_image_put()`).
fn is_exit_observed(hook: &ObservationHook, links: &ProgramLinks) -> bool {
    hooks::programs().any(|its| links.contains_key(its.name) && hook.enters_what(its))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attaching_is_refused_where_the_control_group_has_no_room() {
        let limit = |free| Some(MemoryLimit { bytes: 128 << 20, free });
        let refused = check_memory(64 << 20, limit(128 << 20)).unwrap_err();
        assert!(!refused.leaves_packets());
        let text = refused.to_string();
        assert!(text.contains("leaves it 128 MiB") && text.contains("--ring-size"), "{text}");
        assert!(check_memory(4 << 20, limit(64 << 20)).is_err());
        assert!(check_memory(4 << 20, limit(128 << 20)).is_ok());
        assert!(check_memory(64 << 20, None).is_ok());
    }
}
