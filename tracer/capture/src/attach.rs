//! Loading the object and attaching each observation's best way.

use crate::hooks::{Attach, ChosenHook, OBSERVATIONS, Observation, Program, Refusal, Way};
use crate::object::{self, Symbols};
use crate::{AttachError, CaptureError, Config, doctor, filter};
use aya::programs::{
    BtfTracePoint, CgroupAttachMode, CgroupSock, FEntry, FExit, Iter, Program as Loaded,
    ProgramError,
};
use aya::{Btf, Ebpf, EbpfError, EbpfLoader};
use std::error::Error;
use std::fs::File;
use std::io::Read;

/// The loaded object and what was attached.
pub(crate) struct Attached {
    pub ebpf: Ebpf,
    pub hooks: Vec<ChosenHook>,
    /// Name of the loaded iterator program over existing sockets, if there is one.
    pub lists_existing: bool,
}

pub(crate) fn attach(config: &Config) -> Result<Attached, AttachError> {
    check(config)?;
    let btf = read_btf()?;
    let symbols = Symbols::find(&btf);
    let mut ebpf = load(config, &btf, symbols)?;
    let mut hooks = Vec::with_capacity(OBSERVATIONS.len() + 1);
    for observation in OBSERVATIONS.iter().filter(|o| config.udp || !o.udp_only) {
        let chosen = choose(&mut ebpf, &btf, observation);
        if observation.required && chosen.hook.is_none() {
            let reason = chosen.refused.into_iter().next_back().map(|r| r.reason);
            return Err(AttachError::NothingAttached {
                observation: observation.name,
                reason: reason.unwrap_or_default(),
            });
        }
        hooks.push(chosen);
    }
    hooks.push(doctor::payload_hook(symbols));
    let lists_existing =
        hooks.iter().any(|h| h.observation == "existing sockets" && h.hook.is_some());
    Ok(Attached { ebpf, hooks, lists_existing })
}

fn check(config: &Config) -> Result<(), AttachError> {
    let missing = doctor::missing_capabilities();
    if !missing.is_empty() {
        return Err(AttachError::NoPrivileges { missing: missing.join(", ") });
    }
    let page = u32::try_from(rustix::param::page_size()).unwrap_or(u32::MAX);
    if !config.ring_bytes.is_power_of_two() || config.ring_bytes < page {
        return Err(AttachError::BadRingSize(config.ring_bytes));
    }
    Ok(())
}

pub(crate) fn read_btf() -> Result<Btf, AttachError> {
    if let Err(source) = File::open(doctor::BTF_PATH) {
        return Err(AttachError::NoBtf { source });
    }
    Ok(Btf::from_sys_fs()?)
}

fn load(config: &Config, btf: &Btf, symbols: Symbols) -> Result<Ebpf, AttachError> {
    let object = object::patch(wirelap_ebpf::OBJECT, symbols.dynptr_from_skb);
    let globals = Globals::new(config, symbols)?;
    let mut loader = EbpfLoader::new();
    loader.btf(Some(btf)).allow_unsupported_maps().map_max_entries("ring", config.ring_bytes);
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
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            // Old kernels account maps against RLIMIT_MEMLOCK and say EPERM.
            return matches!(io.raw_os_error(), Some(libc::ENOMEM | libc::EPERM));
        }
        source = inner.source();
    }
    false
}

/// Values of the object's `const volatile` globals.
struct Globals {
    bytes: Vec<(&'static str, u8)>,
    words: Vec<(&'static str, u32)>,
    preempt_count_distance: i32,
    cgroup: u64,
}

impl Globals {
    fn new(config: &Config, symbols: Symbols) -> Result<Globals, AttachError> {
        let cgroup = config.cgroup.as_deref().map(filter::cgroup).transpose()?;
        let (preempt_count_in, preempt_count_distance) = symbols.preempt_count.globals();
        let syscall = |number: libc::c_long| u32::try_from(number).unwrap_or(u32::MAX);
        Ok(Globals {
            bytes: vec![
                ("filter_ports", u8::from(!config.ports.is_empty())),
                ("filter_pids", u8::from(!config.pids.is_empty())),
                ("have_skb_dynptr", u8::from(symbols.dynptr_from_skb.is_some())),
                ("preempt_count_in", preempt_count_in),
                ("mark_in_waking", u8::from(doctor::kernel_at_least(6, 4))),
            ],
            words: vec![
                ("filter_cgroup_level", cgroup.map_or(0, |c| c.level)),
                ("own_tgid", if config.exclude_self { std::process::id() } else { 0 }),
                ("snap_bytes", config.snap_bytes.min(65_536)),
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

/// Attaches the first way that the kernel takes.
fn choose(ebpf: &mut Ebpf, btf: &Btf, observation: &Observation) -> ChosenHook {
    let mut chosen = ChosenHook::untried(observation);
    for way in observation.ways {
        match attach_way(ebpf, btf, way) {
            Ok(()) => {
                chosen.hook = Some(way.hook);
                break;
            }
            Err(reason) => {
                tracing::debug!(observation = observation.name, hook = way.hook, reason, "refused");
                chosen.refused.push(Refusal { hook: way.hook, reason });
            }
        }
    }
    chosen
}

fn attach_way(ebpf: &mut Ebpf, btf: &Btf, way: &Way) -> Result<(), String> {
    for (index, program) in way.programs.iter().enumerate() {
        if let Err(reason) = attach_program(ebpf, btf, program) {
            // All or nothing: half a way would report halves.
            for attached in &way.programs[..=index] {
                unload(ebpf, attached.name);
            }
            return Err(reason);
        }
    }
    Ok(())
}

fn unload(ebpf: &mut Ebpf, name: &str) {
    // One that was never loaded has nothing to unload: its error says no more than that.
    let _ = match ebpf.program_mut(name) {
        Some(Loaded::BtfTracePoint(program)) => program.unload(),
        Some(Loaded::FEntry(program)) => program.unload(),
        Some(Loaded::FExit(program)) => program.unload(),
        Some(Loaded::CgroupSock(program)) => program.unload(),
        Some(Loaded::Iter(program)) => program.unload(),
        _ => Ok(()),
    };
}

fn attach_program(ebpf: &mut Ebpf, btf: &Btf, program: &Program) -> Result<(), String> {
    let loaded = ebpf.program_mut(program.name).ok_or("the object has no such program")?;
    let result = match program.attach {
        Attach::Tracepoint(name) => attach_tracepoint(loaded, name, btf),
        Attach::Entry(function) => attach_entry(loaded, function, btf),
        Attach::Exit(function) => attach_exit(loaded, function, btf),
        Attach::Cgroup => return attach_cgroup(loaded),
        Attach::FileIterator => load_iterator(loaded, btf),
    };
    result.map_err(|error| explain(&error))
}

fn attach_tracepoint(program: &mut Loaded, name: &str, btf: &Btf) -> Result<(), ProgramError> {
    let program: &mut BtfTracePoint = program.try_into()?;
    program.load(name, btf)?;
    program.attach().map(drop)
}

fn attach_entry(program: &mut Loaded, function: &str, btf: &Btf) -> Result<(), ProgramError> {
    let program: &mut FEntry = program.try_into()?;
    program.load(function, btf)?;
    program.attach().map(drop)
}

fn attach_exit(program: &mut Loaded, function: &str, btf: &Btf) -> Result<(), ProgramError> {
    let program: &mut FExit = program.try_into()?;
    program.load(function, btf)?;
    program.attach().map(drop)
}

/// The iterator is attached anew for each walk.
fn load_iterator(program: &mut Loaded, btf: &Btf) -> Result<(), ProgramError> {
    let program: &mut Iter = program.try_into()?;
    program.load("task_file", btf)
}

fn attach_cgroup(program: &mut Loaded) -> Result<(), String> {
    let root = filter::cgroup_root().ok_or("no cgroup v2 hierarchy is mounted")?;
    let root = File::open(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let program: &mut CgroupSock = program.try_into().map_err(|e: ProgramError| explain(&e))?;
    program.load().map_err(|error| explain(&error))?;
    program.attach(root, CgroupAttachMode::Single).map(drop).map_err(|error| explain(&error))
}

/// One line: the error with its causes, and the end of the verifier's log if there is one.
fn explain(error: &ProgramError) -> String {
    let mut text = match error {
        ProgramError::LoadError { io_error, verifier_log } => {
            let log = verifier_log.to_string();
            tracing::debug!(log, "the verifier refused a program");
            let last = log
                .lines()
                .rev()
                .find(|line| !line.is_empty() && !line.starts_with("processed "))
                .unwrap_or_default();
            return format!("{io_error}; {last}");
        }
        other => other.to_string(),
    };
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

/// Walks the open files of all processes once; the program announces the sockets that it finds.
pub(crate) fn list_existing(ebpf: &mut Ebpf) -> Result<(), CaptureError> {
    let failed = |error: &dyn std::fmt::Display| CaptureError::Existing(error.to_string());
    let program: &mut Iter = ebpf
        .program_mut("existing_sockets")
        .ok_or(CaptureError::NoMap("existing_sockets"))?
        .try_into()
        .map_err(|error: ProgramError| failed(&error))?;
    let link = program.attach().map_err(|error| failed(&error))?;
    let link = program.take_link(link).map_err(|error| failed(&error))?;
    let mut file = link.into_file().map_err(|error| failed(&error))?;
    let mut nothing = Vec::new();
    file.read_to_end(&mut nothing).map(drop).map_err(|error| failed(&error))
}
