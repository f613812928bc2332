//! Loading the object and attaching each observation's best way.

use crate::error::{find_io, with_causes};
use crate::hooks::{
    Attach, ChosenHook, OBSERVATIONS, Observation, PAYLOAD_FROM_CGROUP, Program, Refusal, Way, When,
};
use crate::object::{self, Symbols};
use crate::{AttachError, CaptureError, Config, Datagrams, filter, kernel};
use aya::programs::{CgroupAttachMode, CgroupSkbAttachType, Iter, Program as Loaded, ProgramError};
use aya::{Btf, Ebpf, EbpfError, EbpfLoader};
use rustix::io::Errno;
use std::any::Any;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use wirelap_process::remedy::{is_shortage, of_cause};
use wirelap_process::rights::missing_to_attach;

/// What keeps a program attached. Dropping it detaches the program.
type Link = Box<dyn Any + Send>;

/// Programs that are attached, by name.
pub(crate) type Links = BTreeMap<&'static str, Link>;

/// Why a way cannot be gone.
#[derive(Debug)]
pub(crate) struct Refused {
    /// In words.
    pub reason: String,
    /// What the operating system said, if it was that.
    errno: Option<Errno>,
}

impl Refused {
    /// The error that another way would meet, too: there is not enough of something, or the kernel forbids it all. A
    /// program that the verifier does not take is EACCES.
    fn ends_it(&self, is_required: bool) -> Option<io::Error> {
        let errno = self.errno?;
        (is_shortage(errno) || (is_required && errno == Errno::PERM)).then(|| errno.into())
    }
}

impl From<&str> for Refused {
    fn from(reason: &str) -> Refused {
        Refused { reason: reason.to_owned(), errno: None }
    }
}

impl From<&ProgramError> for Refused {
    fn from(error: &ProgramError) -> Refused {
        Refused { reason: explain(error), errno: find_io(error).and_then(Errno::from_io_error) }
    }
}

/// The loaded object and what was attached.
pub(crate) struct Attached {
    pub ebpf: Ebpf,
    pub links: Links,
    pub hooks: Vec<ChosenHook>,
    /// Whether payload comes in records of its own.
    pub joins_payload: bool,
    /// What is loaded but not attached yet.
    pub later: Vec<(When, &'static Way)>,
}

pub(crate) fn attach(config: &Config) -> Result<Attached, AttachError> {
    check(config)?;
    let btf = read_btf()?;
    let symbols = Symbols::find(&btf);
    let mut ebpf = load(config, &btf, symbols)?;
    let mut links = Links::new();
    let mut hooks = Vec::with_capacity(OBSERVATIONS.len() + 1);
    let mut later = Vec::new();
    let wanted = |o: &&Observation| {
        config.datagrams != Datagrams::Never || !matches!(o.when, When::Udp | When::DatagramSent)
    };
    for observation in OBSERVATIONS.iter().filter(wanted) {
        let is_later = match observation.when {
            When::Always | When::Udp => false,
            When::DatagramSent => config.datagrams == Datagrams::WhenSeen,
            When::QdiscSeen => true,
        };
        let later = is_later.then_some(&mut later);
        let chosen = choose(&mut ebpf, &mut links, &btf, observation, later)?;
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
        let way = &PAYLOAD_FROM_CGROUP;
        if let Err(refused) =
            load_way(&mut ebpf, &btf, way).and_then(|()| attach_way(&mut ebpf, &mut links, way))
        {
            unload_way(&mut ebpf, &mut links, way);
            if let Some(source) = refused.ends_it(false) {
                return Err(AttachError::Refused { observation: payload.observation, source });
            }
            payload.hook = None;
            payload.refused.push(Refusal { hook: way.hook, reason: refused.reason });
        }
    }
    let joins_payload = payload.hook == Some(PAYLOAD_FROM_CGROUP.hook);
    hooks.push(payload);
    hooks.push(kernel::quota_hook(&btf));
    Ok(Attached { ebpf, links, hooks, joins_payload, later })
}

fn check(config: &Config) -> Result<(), AttachError> {
    let missing = missing_to_attach();
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
    if let Err(source) = File::open(kernel::BTF_PATH) {
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
    match find_io(error).and_then(Errno::from_io_error) {
        Some(Errno::NOMEM) => true,
        // Those kernels account maps against RLIMIT_MEMLOCK.
        Some(Errno::PERM) => !kernel::kernel_at_least(5, 11),
        _ => false,
    }
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
                ("filter_ports", u8::from(config.is_filtered())),
                ("filter_pids", u8::from(!config.pids.is_empty())),
                ("have_skb_dynptr", u8::from(symbols.dynptr_from_skb.is_some())),
                ("preempt_count_in", preempt_count_in),
                ("payload_from_cgroup", u8::from(symbols.payload_from_cgroup())),
                ("direct_loads", u8::from(kernel::kernel_at_least(6, 17))),
                ("switch_tells_state", u8::from(kernel::kernel_at_least(5, 18))),
                ("have_task_regs", u8::from(kernel::kernel_at_least(5, 15))),
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

/// Takes the first way that the kernel takes: loads it, and attaches it unless `later` keeps it for then.
fn choose(
    ebpf: &mut Ebpf,
    links: &mut Links,
    btf: &Btf,
    observation: &Observation,
    mut later: Option<&mut Vec<(When, &'static Way)>>,
) -> Result<ChosenHook, AttachError> {
    let mut chosen = ChosenHook::untried(observation);
    for way in observation.ways {
        let loaded = load_way(ebpf, btf, way);
        let attached = loaded
            .and_then(|()| if later.is_some() { Ok(()) } else { attach_way(ebpf, links, way) });
        match attached {
            Ok(()) => {
                chosen.hook = Some(way.hook);
                if let Some(later) = &mut later {
                    later.push((observation.when, way));
                }
                break;
            }
            Err(refused) => {
                unload_way(ebpf, links, way);
                if let Some(source) = refused.ends_it(observation.required) {
                    return Err(AttachError::Refused { observation: observation.name, source });
                }
                let reason = refused.reason;
                tracing::debug!(observation = observation.name, hook = way.hook, reason, "refused");
                chosen.refused.push(Refusal { hook: way.hook, reason });
            }
        }
    }
    Ok(chosen)
}

fn load_way(ebpf: &mut Ebpf, btf: &Btf, way: &Way) -> Result<(), Refused> {
    way.programs.iter().try_for_each(|program| load_program(find(ebpf, program)?, program, btf))
}

/// Attaches the programs of a way that has been loaded.
pub(crate) fn attach_way(ebpf: &mut Ebpf, links: &mut Links, way: &Way) -> Result<(), Refused> {
    way.programs.iter().try_for_each(|program| {
        let link = attach_program(find(ebpf, program)?)?;
        links.insert(program.name, link);
        Ok(())
    })
}

/// Attaches programs that were attached before.
pub(crate) fn attach_again(
    ebpf: &mut Ebpf,
    links: &mut Links,
    programs: &[&'static str],
) -> Result<(), Refused> {
    for &name in programs {
        let loaded = ebpf.program_mut(name).ok_or("the object has no such program")?;
        links.insert(name, attach_program(loaded)?);
    }
    Ok(())
}

/// All or nothing: half a way would report halves.
fn unload_way(ebpf: &mut Ebpf, links: &mut Links, way: &Way) {
    for program in way.programs {
        links.remove(program.name);
        unload(ebpf, program.name);
    }
}

fn find<'a>(ebpf: &'a mut Ebpf, program: &Program) -> Result<&'a mut Loaded, Refused> {
    ebpf.program_mut(program.name).ok_or_else(|| "the object has no such program".into())
}

fn unload(ebpf: &mut Ebpf, name: &str) {
    // One that was never loaded has nothing to unload: its error says no more than that.
    let _ = match ebpf.program_mut(name) {
        Some(Loaded::BtfTracePoint(program)) => program.unload(),
        Some(Loaded::FEntry(program)) => program.unload(),
        Some(Loaded::FExit(program)) => program.unload(),
        Some(Loaded::CgroupSock(program)) => program.unload(),
        Some(Loaded::CgroupSkb(program)) => program.unload(),
        Some(Loaded::Iter(program)) => program.unload(),
        _ => Ok(()),
    };
}

fn load_program(loaded: &mut Loaded, program: &Program, btf: &Btf) -> Result<(), Refused> {
    match (loaded, program.attach) {
        (Loaded::BtfTracePoint(loaded), Attach::Tracepoint(name)) => loaded.load(name, btf),
        (Loaded::FEntry(loaded), Attach::Entry(function)) => loaded.load(function, btf),
        (Loaded::FExit(loaded), Attach::Exit(function)) => loaded.load(function, btf),
        (Loaded::CgroupSock(loaded), Attach::Cgroup) => loaded.load(),
        (Loaded::CgroupSkb(loaded), Attach::Egress) => loaded.load(),
        (Loaded::Iter(loaded), Attach::FileIterator) => loaded.load("task_file", btf),
        _ => return Err("the object's program is of another kind".into()),
    }
    .map_err(|error| Refused::from(&error))
}

fn attach_program(loaded: &mut Loaded) -> Result<Link, Refused> {
    match loaded {
        Loaded::BtfTracePoint(p) => p.attach().and_then(|link| p.take_link(link)).map(boxed),
        Loaded::FEntry(p) => p.attach().and_then(|link| p.take_link(link)).map(boxed),
        Loaded::FExit(p) => p.attach().and_then(|link| p.take_link(link)).map(boxed),
        Loaded::CgroupSock(p) => p
            .attach(root_cgroup()?, CgroupAttachMode::Single)
            .and_then(|link| p.take_link(link))
            .map(boxed),
        Loaded::CgroupSkb(p) => p
            .attach(root_cgroup()?, CgroupSkbAttachType::Egress, CgroupAttachMode::Single)
            .and_then(|link| p.take_link(link))
            .map(boxed),
        // An iterator is attached anew for each walk.
        _ => Ok(boxed(())),
    }
    .map_err(|error| Refused::from(&error))
}

fn boxed(link: impl Any + Send) -> Link {
    Box::new(link)
}

fn root_cgroup() -> Result<File, Refused> {
    let root = filter::cgroup_root().ok_or("no cgroup v2 hierarchy is mounted")?;
    File::open(&root).map_err(|error| Refused {
        reason: format!("{}: {error}", root.display()),
        errno: Errno::from_io_error(&error),
    })
}

/// What the verifier's log ends with after the line that says what is wrong (`print_verification_stats`,
/// kernel/bpf/verifier.c).
const STATISTICS: [&str; 3] = ["verification time ", "stack depth ", "processed "];

/// One line: the error with its causes, and what the verifier's log says last if there is one.
fn explain(error: &ProgramError) -> String {
    let ProgramError::LoadError { io_error, verifier_log } = error else {
        return with_causes(error);
    };
    let log = verifier_log.to_string();
    tracing::debug!(log, "the verifier refused a program");
    let last = log
        .lines()
        .rev()
        .find(|line| !line.is_empty() && !STATISTICS.iter().any(|known| line.starts_with(known)))
        .unwrap_or_default();
    format!("{io_error}; {last}")
}

/// Walks the open files of all processes with one of the object's iterators, and returns what it wrote.
pub(crate) fn walk_files(ebpf: &mut Ebpf, program: &'static str) -> Result<Vec<u8>, CaptureError> {
    let failed = |error: &(dyn std::error::Error + 'static)| {
        let advice = find_io(error).and_then(of_cause).map(|advice| format!(": {advice}"));
        CaptureError::Existing(with_causes(error) + &advice.unwrap_or_default())
    };
    let iterator: &mut Iter = ebpf
        .program_mut(program)
        .ok_or(CaptureError::NoMap(program))?
        .try_into()
        .map_err(|error: ProgramError| failed(&error))?;
    let link = iterator.attach().map_err(|error| failed(&error))?;
    let link = iterator.take_link(link).map_err(|error| failed(&error))?;
    let mut file = link.into_file().map_err(|error| failed(&error))?;
    let mut written = Vec::new();
    file.read_to_end(&mut written).map_err(|error| failed(&error))?;
    Ok(written)
}
