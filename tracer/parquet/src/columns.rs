//! The columns: their names, what they mean, and how their values are made.
//!
//! Times are whole nanoseconds in 64-bit integers, and their names end in `_ns`. A value that is not known is null.

use crate::batch::{DeliveryRow, RowBatch};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, StringArray, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use wirelap_events::{LegHosts, MAX_LEGS, Nanos, Segment, Stage, TaskId, TopicId};
use wirelap_report::SampleOrigin;

/// The meanings of the numbers in rows.
#[derive(Debug, Default)]
pub struct Names {
    /// The origins of rows, by index.
    pub origins: Vec<SampleOrigin>,
    /// The names of topics.
    pub topics: HashMap<TopicId, String>,
}

impl Names {
    /// Takes the names of an origin, in place of those that it had before.
    pub fn name(&mut self, index: usize, origin: SampleOrigin) {
        if self.origins.len() <= index {
            self.origins.resize_with(index.saturating_add(1), SampleOrigin::default);
        }
        if let Some(place) = self.origins.get_mut(index) {
            *place = origin;
        }
    }

    fn origin(&self, row: &DeliveryRow) -> Option<&SampleOrigin> {
        self.origins.get(row.origin)
    }
}

type Of<T> = Box<dyn Fn(&DeliveryRow, &Names) -> Option<T> + Send>;
type TextOf = Box<dyn for<'a> Fn(&'a DeliveryRow, &'a Names) -> Option<Cow<'a, str>> + Send>;

/// The functions that make the values of a column.
enum Values {
    Integer(Of<i64>),
    Real(Of<f64>),
    Flag(Of<bool>),
    Text(TextOf),
    /// The list of what each delivery spent its time on.
    Spent,
}

/// The name of a column and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDescription {
    /// The name. Names of times end in `_ns`.
    pub name: String,
    /// The type as `DuckDB` calls it.
    pub kind: &'static str,
}

/// A column.
pub struct TableColumn {
    pub name: String,
    values: Values,
}

/// The columns of a file, in order.
pub fn columns() -> Vec<ColumnDescription> {
    let describe = |column: &TableColumn| ColumnDescription {
        name: column.name.clone(),
        kind: match column.values {
            Values::Integer(_) => "BIGINT",
            Values::Real(_) => "DOUBLE",
            Values::Flag(_) => "BOOLEAN",
            Values::Text(_) => "VARCHAR",
            Values::Spent => "STRUCT(leg BIGINT, segment VARCHAR, cause VARCHAR, time_ns BIGINT)[]",
        },
    };
    all().iter().map(describe).collect()
}

impl TableColumn {
    /// The column's field in the schema.
    pub fn field(&self) -> Field {
        let kind = match self.values {
            Values::Integer(_) => DataType::Int64,
            Values::Real(_) => DataType::Float64,
            Values::Flag(_) => DataType::Boolean,
            Values::Text(_) => DataType::Utf8,
            Values::Spent => DataType::List(spent_item()),
        };
        Field::new(&self.name, kind, !matches!(self.values, Values::Spent))
    }

    /// The column's values in a batch.
    pub fn array(&self, batch: &RowBatch, names: &Names) -> ArrayRef {
        let rows = || batch.rows.iter();
        match &self.values {
            Values::Integer(of) => {
                Arc::new(rows().map(|row| of(row, names)).collect::<Int64Array>())
            }
            Values::Real(of) => {
                Arc::new(rows().map(|row| of(row, names)).collect::<Float64Array>())
            }
            Values::Flag(of) => {
                Arc::new(rows().map(|row| of(row, names)).collect::<BooleanArray>())
            }
            Values::Text(of) => Arc::new(rows().map(|row| of(row, names)).collect::<StringArray>()),
            Values::Spent => Arc::new(spent(batch)),
        }
    }
}

fn integer(
    name: impl Into<String>,
    of: impl Fn(&DeliveryRow, &Names) -> Option<i64> + Send + 'static,
) -> TableColumn {
    TableColumn { name: name.into(), values: Values::Integer(Box::new(of)) }
}

fn text(
    name: impl Into<String>,
    of: impl for<'a> Fn(&'a DeliveryRow, &'a Names) -> Option<Cow<'a, str>> + Send + 'static,
) -> TableColumn {
    TableColumn { name: name.into(), values: Values::Text(Box::new(of)) }
}

fn flag(
    name: impl Into<String>,
    of: impl Fn(&DeliveryRow, &Names) -> Option<bool> + Send + 'static,
) -> TableColumn {
    TableColumn { name: name.into(), values: Values::Flag(Box::new(of)) }
}

/// A number that is far below 2^63 in practice; the largest number otherwise.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn time(time: Nanos) -> i64 {
    whole(time.0)
}

/// An error of times between two hosts; `None` on one host, and if it is not known.
fn error(error: Nanos) -> Option<i64> {
    (error != Nanos(0) && error != LegHosts::UNKNOWN).then(|| time(error))
}

/// All columns, in order.
pub fn all() -> Vec<TableColumn> {
    let mut all = origin();
    all.extend(identity());
    for index in 0..MAX_LEGS {
        all.extend(ends_of_leg(index));
        all.extend(times_of_leg(index));
    }
    all.push(TableColumn { name: "spent".into(), values: Values::Spent });
    all
}

/// A name; `None` if it is not known yet.
fn named(name: &str) -> Option<Cow<'_, str>> {
    (!name.is_empty()).then_some(name.into())
}

/// The columns of a delivery's origin.
fn origin() -> Vec<TableColumn> {
    let rate = |row: &DeliveryRow, names: &Names| names.origin(row)?.rate_msg_per_s;
    vec![
        text("middleware", |row, names| named(&names.origin(row)?.middleware)),
        text("broker", |row, names| Some(names.origin(row)?.broker.as_deref()?.into())),
        text("host", |row, names| Some(names.origin(row)?.host.as_deref()?.into())),
        text("variant", |row, names| Some(names.origin(row)?.variant.as_deref()?.into())),
        integer("trial_payload_bytes", |row, names| names.origin(row)?.payload_bytes.map(whole)),
        TableColumn { name: "rate_msg_per_s".into(), values: Values::Real(Box::new(rate)) },
        integer("repetition", |row, names| names.origin(row)?.repetition.map(i64::from)),
    ]
}

/// The columns of a delivery's identity, and of the time that it took.
fn identity() -> Vec<TableColumn> {
    vec![
        text("status", |row, _| Some(row.status.name().into())),
        integer("message", |row, _| Some(whole(row.message.0))),
        integer("stream", |row, _| Some(row.stamp?.stream.into())),
        integer("sequence", |row, _| Some(row.stamp?.seq.into())),
        flag("is_reply", |row, _| Some(row.stamp?.reply)),
        text("topic", |row, names| Some(names.topics.get(&row.topic?)?.as_str().into())),
        integer("payload_bytes", |row, _| Some(whole(row.payload_len))),
        integer("wall_offset_ns", |row, names| names.origin(row)?.wall_offset_ns),
        integer("begins_at_ns", |row, _| row.begins.map(time)),
        integer("one_way_ns", |row, _| row.one_way.map(time)),
        integer("clock_error_ns", |row, _| error(row.clock_error)),
        integer("legs", |row, _| i64::try_from(row.legs.len()).ok()),
    ]
}

/// The name of a column of a leg.
fn of_leg(index: usize, name: &str) -> String {
    format!("leg{}_{name}", wirelap_events::human::ordinal(index))
}

/// The connection of a leg and the threads at its ends.
fn ends_of_leg(index: usize) -> Vec<TableColumn> {
    let pid = |task: Option<TaskId>| task.map(|task| i64::from(task.pid.0)).filter(|&id| id != 0);
    let tid = |task: Option<TaskId>| task.map(|task| i64::from(task.tid.0)).filter(|&id| id != 0);
    let named = |name| of_leg(index, name);
    vec![
        text(named("transport"), move |row, _| {
            Some(row.legs.get(index)?.flow.transport.to_string().into())
        }),
        text(named("source"), move |row, _| Some(row.legs.get(index)?.flow.src.to_string().into())),
        text(named("destination"), move |row, _| {
            Some(row.legs.get(index)?.flow.dst.to_string().into())
        }),
        integer(named("sender_pid"), move |row, _| pid(row.legs.get(index)?.sender)),
        integer(named("sender_tid"), move |row, _| tid(row.legs.get(index)?.sender)),
        integer(named("reader_pid"), move |row, _| pid(row.legs.get(index)?.reader)),
        integer(named("reader_tid"), move |row, _| tid(row.legs.get(index)?.reader)),
        integer(named("bytes"), move |row, _| Some(whole(row.legs.get(index)?.bytes))),
        flag(named("resent"), move |row, _| Some(row.legs.get(index)?.resent)),
        flag(named("behind_loss"), move |row, _| Some(row.legs.get(index)?.behind_loss)),
        flag(named("deferred"), move |row, _| Some(row.legs.get(index)?.deferred)),
        integer(named("clock_error_ns"), move |row, _| error(row.legs.get(index)?.clock_error)),
    ]
}

/// The columns of the times at which a leg passed each stage, and of its time in each segment.
fn times_of_leg(index: usize) -> Vec<TableColumn> {
    let stages = Stage::ALL.into_iter().map(|stage| {
        integer(of_leg(index, &format!("at_{}_ns", stage.name())), move |row, _| {
            row.legs.get(index)?.times.get(stage).map(time)
        })
    });
    let segments = Segment::ALL.into_iter().map(|segment| {
        integer(of_leg(index, &format!("in_{}_ns", segment.name())), move |row, _| {
            row.legs.get(index)?.segments?.get(segment).map(time)
        })
    });
    stages.chain(segments).collect()
}

fn spent_fields() -> Fields {
    Fields::from(vec![
        Field::new("leg", DataType::Int64, false),
        Field::new("segment", DataType::Utf8, false),
        Field::new("cause", DataType::Utf8, true),
        Field::new("time_ns", DataType::Int64, false),
    ])
}

fn spent_item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Struct(spent_fields()), false))
}

/// The times that each delivery spent, by cause. The cause of time that a segment takes anyway is null, as in the JSON.
fn spent(batch: &RowBatch) -> ListArray {
    let all = || batch.spent.iter();
    let legs = all().map(|spent| i64::try_from(wirelap_events::human::ordinal(spent.leg)).ok());
    let segments = all().map(|spent| Some(spent.segment.name()));
    let causes = all().map(|spent| spent.cause.name());
    let times = all().map(|spent| Some(time(spent.time)));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(legs.collect::<Int64Array>()),
        Arc::new(segments.collect::<StringArray>()),
        Arc::new(causes.collect::<StringArray>()),
        Arc::new(times.collect::<Int64Array>()),
    ];
    let lengths = batch.rows.iter().map(|row| row.spent);
    ListArray::new(
        spent_item(),
        OffsetBuffer::from_lengths(lengths),
        Arc::new(StructArray::new(spent_fields(), columns, None)),
        None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_every_column_and_its_type() {
        let guide = include_str!("../../../docs/guide/export.md");
        let (_, section) = guide.split_once("## Single messages").unwrap();
        let section = section.split("\n## ").next().unwrap();
        for ColumnDescription { name, kind } in columns() {
            let shown = match name.strip_prefix("leg").and_then(|rest| rest.split_at_checked(1)) {
                Some((leg, rest)) if rest.starts_with('_') && leg != "s" => format!("legN{rest}"),
                _ => name.clone(),
            };
            let mut rows = section.lines().filter(|line| line.starts_with('|'));
            let row = rows.find(|line| line.contains(&format!("`{shown}`")));
            let row = row.unwrap_or_else(|| panic!("the guide does not have {shown}"));
            let kind = kind.split('(').next().unwrap_or_default();
            assert!(row.contains(kind), "{name} is {kind}: {row}");
        }
    }

    #[test]
    fn names_are_unique_and_times_say_their_unit() {
        let names: Vec<String> = columns().into_iter().map(|column| column.name).collect();
        let unique: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
        let is_time = |name: &&String| name.contains("_at_") || name.contains("_in_");
        assert!(names.iter().filter(is_time).all(|name| name.ends_with("_ns")));
        assert_eq!(
            names.iter().filter(is_time).count(),
            4 * (Stage::ALL.len() + Segment::ALL.len()) + 1
        );
    }
}
