//! The knowledge that encoder and decoder have of the records before: the same on both sides.

use super::coder::{BitCoder, BitModel, tree};
use super::history::History;
use super::number::{Anywhere, Field, NumberModel, Place};
use wirelap_events::{Cpu, Nanos};

/// More than the number of any kind of record.
const KINDS: usize = 32;

/// Bits of the number of a subject.
pub const SUBJECT_BITS: u32 = 12;

/// Bits of the hash of a place in a record.
const PLACE_BITS: u32 = 14;

/// The most places of records that are told apart. Those beyond share the last.
const MAX_PLACES: usize = 4_096;

/// The most values of a record that are told apart.
const MAX_FIELDS: usize = 72;

/// Number of CPUs whose records are told apart.
const CPUS: usize = 64;

/// Begin of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub cpu: Cpu,
    /// Number of its kind.
    pub kind: u8,
    /// Number of its subject: the flow, socket or thread that it is about, by a hash that several may have.
    pub subject: usize,
    pub at: Nanos,
}

/// Records about one subject.
#[derive(Debug, Default)]
pub struct Subject {
    fields: Vec<Field>,
    /// Place of its last text.
    pub text: u64,
}

impl Subject {
    pub fn field(&mut self, index: usize) -> &mut Field {
        let index = index.min(MAX_FIELDS);
        if self.fields.len() <= index {
            self.fields.resize(index.saturating_add(1), Field::default());
        }
        &mut self.fields[index]
    }
}

/// The places of values in records, by what came before them in the record.
#[derive(Debug)]
pub struct Places {
    numbers: Vec<u16>,
    places: Vec<Place>,
}

impl Places {
    pub fn place(&mut self, path: u32) -> &mut Place {
        let number = &mut self.numbers[(path >> (32 - PLACE_BITS)) as usize];
        if *number == 0 && self.places.len() < MAX_PLACES {
            self.places.push(Place::default());
        }
        if *number == 0 {
            *number = u16::try_from(self.places.len()).unwrap_or(u16::MAX);
        }
        let index = usize::from(*number).wrapping_sub(1).min(MAX_PLACES - 1);
        &mut self.places[index]
    }
}

/// Everything that was learnt.
#[derive(Debug)]
pub struct Model {
    pub heads: Heads,
    pub subjects: Vec<Subject>,
    pub places: Places,
    pub anywhere: Anywhere,
    pub history: History,
    /// Bytes of texts that did not stand in earlier ones.
    pub own_bytes: Vec<BitModel>,
}

impl Default for Model {
    fn default() -> Model {
        Model {
            heads: Heads::default(),
            subjects: (0..1 << SUBJECT_BITS).map(|_| Subject::default()).collect(),
            places: Places { numbers: vec![0; 1 << PLACE_BITS], places: Vec::new() },
            anywhere: Anywhere::default(),
            history: History::default(),
            own_bytes: vec![BitModel::default(); 256],
        }
    }
}

/// The begins of records, by those before them on the same CPU.
#[derive(Debug)]
pub struct Heads {
    /// The last one of each CPU.
    last: [Head; CPUS],
    last_cpu: Cpu,
    /// Kind and subject of what came last after a kind and subject.
    successors: Vec<(u8, u16)>,
    is_same_cpu: [BitModel; KINDS],
    cpu: NumberModel,
    is_successor: [BitModel; KINDS],
    kind: [[BitModel; KINDS]; KINDS],
    /// For each kind that has come.
    subject: Vec<Vec<BitModel>>,
    time: Vec<NumberModel>,
}

impl Default for Heads {
    fn default() -> Heads {
        let bit = BitModel::default();
        Heads {
            last: [Head::default(); CPUS],
            last_cpu: Cpu(0),
            successors: vec![(0, 0); 1 << SUBJECT_BITS],
            is_same_cpu: [bit; KINDS],
            cpu: NumberModel::default(),
            is_successor: [bit; KINDS],
            kind: [[bit; KINDS]; KINDS],
            subject: vec![Vec::new(); KINDS],
            time: vec![NumberModel::default(); 2 * KINDS],
        }
    }
}

impl Heads {
    pub fn code<C: BitCoder>(&mut self, coder: &mut C, head: &Head) -> Head {
        let cpu = self.cpu(coder, head.cpu);
        let last = &mut self.last[usize::from(cpu.0) % CPUS];
        let before = usize::from(last.kind);
        let hash = (last.subject ^ before << 7) % (1 << SUBJECT_BITS);
        let successor = &mut self.successors[hash];
        let given = (head.kind, u16::try_from(head.subject).unwrap_or_default());
        let is_successor = coder.bit(&mut self.is_successor[before], given == *successor);
        if !is_successor {
            let kind = tree(coder, &mut self.kind[before], 5, head.kind.into());
            let subjects = &mut self.subject[kind];
            subjects.resize(1 << SUBJECT_BITS, BitModel::default());
            let subject = tree(coder, subjects, SUBJECT_BITS, head.subject);
            *successor = (
                u8::try_from(kind).unwrap_or_default(),
                u16::try_from(subject).unwrap_or_default(),
            );
        }
        let (kind, subject) = *successor;
        let time = &mut self.time[usize::from(kind) << 1 | usize::from(is_successor)];
        let passed = time.code_signed(coder, head.at.0.wrapping_sub(last.at.0).cast_signed());
        let at = Nanos(last.at.0.wrapping_add_signed(passed));
        *last = Head { cpu, kind, subject: subject.into(), at };
        *last
    }

    /// The last one.
    pub fn last(&self) -> Head {
        self.last[usize::from(self.last_cpu.0) % CPUS]
    }

    fn cpu<C: BitCoder>(&mut self, coder: &mut C, cpu: Cpu) -> Cpu {
        let before = usize::from(self.last().kind);
        if !coder.bit(&mut self.is_same_cpu[before], cpu == self.last_cpu) {
            let number = self.cpu.code(coder, cpu.0.into());
            self.last_cpu = Cpu(u16::try_from(number).unwrap_or_default());
        }
        self.last_cpu
    }
}
