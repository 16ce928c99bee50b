//! Parquet and Arrow IPC (file and stream). Numbers are features, lists of numbers vectors `name[0]`, `name[1]`, …;
//! strings and dictionaries are text. Row groups of a Parquet file are decoded in parallel, each into its own rows.
//! If every feature column is f32 (or f16) the rows are f32. Nulls in features are errors.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{DataType, Schema};
use kinfold::data::{Float, Table};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use rayon::prelude::*;

use crate::error::{ReadError, Result};
use crate::format::Format;
use crate::input::Loaded;
use crate::scan;
use crate::table::{
    DataFile, Features, Holds, Lines, Parts, Plan, Precision, ReadOptions, TextColumn, distinct_names, plan, zeroed,
};

/// A float that Arrow knows.
trait ArrowFloat: Float {
    const KIND: DataType;
    /// The values of an array of that kind.
    fn of(array: &ArrayRef) -> &[Self];
}
impl ArrowFloat for f32 {
    const KIND: DataType = DataType::Float32;
    fn of(array: &ArrayRef) -> &[f32] {
        array.as_primitive::<Float32Type>().values()
    }
}
impl ArrowFloat for f64 {
    const KIND: DataType = DataType::Float64;
    fn of(array: &ArrayRef) -> &[f64] {
        array.as_primitive::<Float64Type>().values()
    }
}

/// Is it a number, and does it fit f32?
fn number(kind: &DataType) -> Option<bool> {
    match kind {
        DataType::Float16 | DataType::Float32 => Some(true),
        DataType::Dictionary(_, values) => number(values),
        kind if kind.is_numeric() => Some(false),
        _ => None,
    }
}

/// The numbers inside a list.
fn list_of(kind: &DataType) -> Option<bool> {
    match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => number(item.data_type()),
        _ => None,
    }
}

fn holds(kind: &DataType) -> Holds {
    match kind {
        kind if number(kind).or(list_of(kind)).is_some() => Holds::Numbers,
        DataType::Boolean => Holds::Text, // 0 and 1 if --features names it
        _ => Holds::NoNumbers,
    }
}

/// Third-party decoders may panic on damaged files; that is the file's fault, and is said so.
fn guarded<T>(name: &str, what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(damaged(name, what, "its parts do not fit together")))
}

fn damaged(name: &str, what: &str, why: impl std::fmt::Display) -> ReadError {
    let why = why.to_string();
    let why = why.strip_prefix("Parquet error: ").unwrap_or(&why);
    ReadError::new(name, format!("the {what} file is damaged or truncated: {why}")).hint("copy or write it again")
}

/// The columns of a file and what becomes of them.
struct Columns {
    plan: Plan,
    names: Vec<String>,
    precision: Precision,
    /// All columns read, ascending: the order in which batches hold them.
    roots: Vec<usize>,
    /// Width of each feature column.
    widths: Vec<usize>,
    vector: Vec<bool>,
}

impl Columns {
    fn new(name: &str, schema: &Schema, options: &ReadOptions) -> Result<Columns> {
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        distinct_names(name, None, &names)?;
        let columns: Vec<(String, Holds)> =
            schema.fields().iter().map(|f| (f.name().clone(), holds(f.data_type()))).collect();
        let plan = plan(name, &columns, options)?;
        let kind = |at: usize| schema.field(at).data_type();
        let single = plan.features.iter().all(|&at| number(kind(at)).or(list_of(kind(at))) == Some(true));
        let own = if single && !plan.features.is_empty() { Precision::F32 } else { Precision::F64 };
        let mut roots: Vec<usize> = plan.features.iter().chain(&plan.text).copied().collect();
        roots.sort_unstable();
        let vector: Vec<bool> = plan.features.iter().map(|&at| list_of(kind(at)).is_some()).collect();
        let widths = plan.features.iter().map(|&at| match kind(at) {
            DataType::FixedSizeList(_, width) => *width as usize,
            kind if list_of(kind).is_some() => 0, // Learned from the first row.
            _ => 1,
        });
        let widths = widths.collect();
        Ok(Columns { plan, names, precision: options.precision.unwrap_or(own), roots, widths, vector })
    }

    fn dims(&self) -> usize {
        self.widths.iter().sum()
    }
    fn wants_widths(&self) -> bool {
        self.widths.contains(&0)
    }
    fn position(&self, at: usize) -> usize {
        self.roots.binary_search(&at).unwrap_or(0)
    }

    /// Widths of lists without a fixed one, from the first row of the first batch.
    fn learn_widths(&mut self, name: &str, batch: &RecordBatch) -> Result<()> {
        for i in 0..self.widths.len() {
            if self.widths[i] == 0 {
                let at = self.plan.features[i];
                let (_, ends) = list_parts(batch.column(self.position(at)));
                self.widths[i] = ends.first().map_or(0, |&(from, to)| to - from);
                if self.widths[i] == 0 {
                    return Err(ReadError::new(name, "the list of row 0 is empty")
                        .in_column(self.names[at].as_str())
                        .hint("vectors must have the same length in every row"));
                }
            }
        }
        Ok(())
    }

    fn feature_names(&self) -> Vec<String> {
        let mut all = Vec::with_capacity(self.dims());
        for ((&at, &width), &vector) in self.plan.features.iter().zip(&self.widths).zip(&self.vector) {
            if vector {
                all.extend((0..width).map(|i| format!("{}[{i}]", self.names[at])));
            } else {
                all.push(self.names[at].clone());
            }
        }
        all
    }

    /// Writes a batch into its rows; `first` is the number of its first row, for messages.
    fn fill<F: ArrowFloat>(
        &self,
        name: &str,
        batch: &RecordBatch,
        first: usize,
        out: &mut [F],
        texts: &mut [TextColumn],
    ) -> Result<()> {
        let dims = self.dims();
        let mut offset = 0;
        for ((&at, &width), &vector) in self.plan.features.iter().zip(&self.widths).zip(&self.vector) {
            let array = batch.column(self.position(at));
            let bad = |row: usize, what: String| {
                ReadError::new(name, format!("row {} (from 0) holds {what}", first + row))
                    .in_column(self.names[at].as_str())
                    .hint("fill it, drop the row, or leave the column out by naming the others with --features")
            };
            if let Some(row) = first_null(array) {
                return Err(bad(row, "no value".into()));
            }
            let (values, ends) = if vector {
                list_parts(array)
            } else {
                (array.clone(), (0..array.len()).map(|i| (i, i + 1)).collect())
            };
            let values = cast(&values, &F::KIND).map_err(|e| damaged(name, "data", e))?;
            let numbers = F::of(&values);
            for (row, &(from, to)) in ends.iter().enumerate() {
                if to - from != width {
                    let what = format!("{} numbers, but row 0 has {width}", to - from);
                    return Err(bad(row, what).hint("vectors must have the same length in every row"));
                }
                for (slot, i) in out[row * dims + offset..][..width].iter_mut().zip(from..to) {
                    if values.is_null(i) {
                        return Err(bad(row, "no value".into()));
                    }
                    *slot = numbers[i];
                    if !slot.to_f64().is_finite() {
                        return Err(bad(row, slot.to_f64().to_string()));
                    }
                }
            }
            offset += width;
        }
        for (&at, text) in self.plan.text.iter().zip(texts) {
            push_text(name, batch.column(self.position(at)), text)?;
        }
        Ok(())
    }
}

fn first_null(array: &ArrayRef) -> Option<usize> {
    let nulls = array.logical_nulls()?;
    (0..array.len()).find(|&row| nulls.is_null(row))
}

/// The child values of a list array and the range of each row in them.
fn list_parts(array: &ArrayRef) -> (ArrayRef, Vec<(usize, usize)>) {
    if let Some(list) = array.as_list_opt::<i32>() {
        let ends = list.value_offsets().windows(2).map(|w| (w[0] as usize, w[1] as usize)).collect();
        (list.values().clone(), ends)
    } else if let Some(list) = array.as_list_opt::<i64>() {
        let ends = list.value_offsets().windows(2).map(|w| (w[0] as usize, w[1] as usize)).collect();
        (list.values().clone(), ends)
    } else if let Some(list) = array.as_fixed_size_list_opt() {
        let width = list.value_length() as usize;
        (list.values().clone(), (0..list.len()).map(|i| (i * width, (i + 1) * width)).collect())
    } else {
        (array.clone(), Vec::new())
    }
}

fn push_text(name: &str, array: &ArrayRef, text: &mut TextColumn) -> Result<()> {
    let stringy = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let is_text = match array.data_type() {
        DataType::Dictionary(_, values) => stringy(values),
        kind => stringy(kind),
    };
    if is_text {
        let strings = cast(array, &DataType::Utf8).map_err(|e| damaged(name, "data", e))?;
        strings.as_string::<i32>().iter().for_each(|value| text.push(value.unwrap_or_default()));
        return Ok(());
    }
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options).map_err(|e| damaged(name, "data", e))?;
    (0..array.len()).for_each(|row| text.push_display(formatter.value(row)));
    Ok(())
}

pub(crate) fn read_parquet(loaded: &Loaded, options: &ReadOptions) -> Result<DataFile> {
    let name = loaded.name.as_str();
    let fail = |e: &dyn std::fmt::Display| damaged(name, "Parquet", e);
    guarded(name, "Parquet", || {
        let meta = ArrowReaderMetadata::load(&loaded.bytes, Default::default()).map_err(|e| fail(&e))?;
        let mut columns = Columns::new(name, meta.schema(), options)?;
        let counts: Vec<usize> = (meta.metadata().row_groups().iter())
            .map(|g| usize::try_from(g.num_rows()).map_err(|_| fail(&"a row group has a negative number of rows")))
            .collect::<Result<_>>()?;
        let n = counts.iter().try_fold(0usize, |n, &c| n.checked_add(c)).ok_or_else(|| fail(&"too many rows"))?;
        let roots = columns.roots.clone();
        let open = |groups: Vec<usize>, batch: usize| {
            let mask = ProjectionMask::roots(meta.parquet_schema(), roots.iter().copied());
            ParquetRecordBatchReaderBuilder::new_with_metadata(loaded.bytes.clone(), meta.clone())
                .with_row_groups(groups)
                .with_projection(mask)
                .with_batch_size(batch)
                .build()
                .map_err(|e| fail(&e))
        };
        if n == 0 {
            return Err(no_rows(name));
        }
        if columns.wants_widths() {
            let first = open((0..counts.len()).collect(), 1)?.next().transpose().map_err(|e| fail(&e))?;
            let first = first.ok_or_else(|| fail(&"it has fewer rows than it says"))?;
            columns.learn_widths(name, &first)?;
        }
        let columns = &columns;
        let pool = scan::pool(name, options.threads)?;
        let (rows, texts) = match columns.precision {
            Precision::F32 => {
                let (values, texts) = row_groups::<f32, _>(name, columns, &counts, &pool, open)?;
                (Features::F32(Table::Dense { values, dims: columns.dims() }), texts)
            }
            Precision::F64 => {
                let (values, texts) = row_groups::<f64, _>(name, columns, &counts, &pool, open)?;
                (Features::F64(Table::Dense { values, dims: columns.dims() }), texts)
            }
        };
        finish(name, Format::Parquet, n, rows, texts, columns, options)
    })
}

fn no_rows(name: &str) -> ReadError {
    ReadError::new(name, "there are columns but no row").hint("give a file with at least one row")
}

fn finish(
    name: &str,
    format: Format,
    n: usize,
    rows: Features,
    text: Vec<TextColumn>,
    columns: &Columns,
    options: &ReadOptions,
) -> Result<DataFile> {
    let (feature_names, lines) = (columns.feature_names(), Lines::None);
    Parts { source: name.to_string(), format, n, rows, feature_names, text, lines }.finish(options)
}

/// Every row group into its own part of the rows.
fn row_groups<F, R>(
    name: &str,
    columns: &Columns,
    counts: &[usize],
    pool: &rayon::ThreadPool,
    open: impl Fn(Vec<usize>, usize) -> Result<R> + Sync,
) -> Result<(Vec<F>, Vec<TextColumn>)>
where
    F: ArrowFloat,
    R: Iterator<Item = Result<RecordBatch, arrow_schema::ArrowError>>,
{
    let dims = columns.dims();
    let mut values: Vec<F> = zeroed(name, counts.iter().sum(), dims)?;
    let (mut rest, mut first, mut work) = (values.as_mut_slice(), 0, Vec::new());
    for (group, &count) in counts.iter().enumerate() {
        let (own, others) = rest.split_at_mut(count * dims);
        work.push((group, first, count, own));
        (rest, first) = (others, first + count);
    }
    let decode = |(group, first, count, out): (usize, usize, usize, &mut [F])| {
        let mut texts: Vec<TextColumn> = columns.plan.text.iter().map(|_| TextColumn::new("")).collect();
        let mut done = 0;
        for batch in open(vec![group], 8192)? {
            let batch = batch.map_err(|e| damaged(name, "Parquet", e))?;
            if done + batch.num_rows() > count {
                return Err(damaged(name, "Parquet", "a row group has more rows than it says"));
            }
            let out = &mut out[done * dims..(done + batch.num_rows()) * dims];
            columns.fill(name, &batch, first + done, out, &mut texts)?;
            done += batch.num_rows();
        }
        if done < count {
            return Err(damaged(name, "Parquet", "a row group has fewer rows than it says"));
        }
        Ok(texts)
    };
    let parts: Vec<Result<Vec<TextColumn>>> = pool.install(|| work.into_par_iter().map(decode).collect());
    let mut joined: Vec<Vec<TextColumn>> = columns.plan.text.iter().map(|_| Vec::new()).collect();
    for part in parts {
        joined.iter_mut().zip(part?).for_each(|(all, column)| all.push(column));
    }
    let named = joined.into_iter().zip(&columns.plan.text);
    Ok((values, named.map(|(parts, &at)| TextColumn::join(&columns.names[at], parts)).collect()))
}

/// The batches of an Arrow file or stream, all columns or some.
type Batches<'a> = Box<dyn Iterator<Item = Result<RecordBatch, arrow_schema::ArrowError>> + 'a>;

pub(crate) fn read_arrow(loaded: &Loaded, options: &ReadOptions) -> Result<DataFile> {
    let name = loaded.name.as_str();
    let fail = |e: &dyn std::fmt::Display| damaged(name, "Arrow IPC", e);
    guarded(name, "Arrow IPC", || {
        let open = |columns: Option<Vec<usize>>| -> Result<(Schema, Batches<'_>)> {
            let from = Cursor::new(&loaded.bytes[..]);
            if loaded.bytes.starts_with(b"ARROW1") {
                let reader = FileReader::try_new(from, columns).map_err(|e| fail(&e))?;
                Ok((Schema::clone(&reader.schema()), Box::new(reader)))
            } else {
                let reader = StreamReader::try_new(from, columns).map_err(|e| fail(&e))?;
                Ok((Schema::clone(&reader.schema()), Box::new(reader)))
            }
        };
        let (schema, _) = open(None)?;
        let mut columns = Columns::new(name, &schema, options)?;
        if columns.wants_widths() {
            let (_, batches) = open(Some(columns.roots.clone()))?;
            let mut filled = batches.filter(|b| b.as_ref().map_or(true, |b| b.num_rows() > 0));
            let first = filled.next().transpose().map_err(|e| fail(&e))?.ok_or_else(|| no_rows(name))?;
            columns.learn_widths(name, &first)?;
        }
        let (_, batches) = open(Some(columns.roots.clone()))?;
        let dims = columns.dims();
        let (n, rows, texts) = match columns.precision {
            Precision::F32 => {
                let (n, values, texts) = all_batches::<f32>(name, &columns, batches)?;
                (n, Features::F32(Table::Dense { values, dims }), texts)
            }
            Precision::F64 => {
                let (n, values, texts) = all_batches::<f64>(name, &columns, batches)?;
                (n, Features::F64(Table::Dense { values, dims }), texts)
            }
        };
        finish(name, Format::ArrowIpc, n, rows, texts, &columns, options)
    })
}

fn all_batches<F: ArrowFloat>(
    name: &str,
    columns: &Columns,
    batches: Batches<'_>,
) -> Result<(usize, Vec<F>, Vec<TextColumn>)> {
    let dims = columns.dims();
    let (mut n, mut values) = (0, Vec::<F>::new());
    let mut texts: Vec<TextColumn> =
        columns.plan.text.iter().map(|&at| TextColumn::new(columns.names[at].as_str())).collect();
    for batch in batches {
        let batch = batch.map_err(|e| damaged(name, "Arrow IPC", e))?;
        let start = values.len();
        values.resize(start + batch.num_rows() * dims, F::default());
        columns.fill(name, &batch, n, &mut values[start..], &mut texts)?;
        n += batch.num_rows();
    }
    if n == 0 {
        return Err(no_rows(name));
    }
    Ok((n, values, texts))
}

#[cfg(test)]
mod tests;
