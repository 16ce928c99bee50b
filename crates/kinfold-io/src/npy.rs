//! NumPy's .npy, one or two dimensions. C-ordered little-endian f32 and f64 are lent from the mapped file without a
//! copy; Fortran order, other byte orders, integers and half floats are converted.

use bytes::Bytes;
use kinfold::data::{Dataset, Float, Table};
use rayon::prelude::*;

use crate::error::{ReadError, Result, show};
use crate::format::Format;
use crate::input::Loaded;
use crate::scan;
use crate::table::{
    DataFile, Features, Holds, Lines, Parts, Plan, Precision, ReadOptions, TextColumn, View, plan, zeroed,
};

/// Rows lent from a memory-mapped NPY file.
pub struct Mapped {
    bytes: Bytes,
    dims: usize,
    single: bool,
}

impl std::fmt::Debug for Mapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mapped").field("bytes", &self.bytes.len()).field("dims", &self.dims).finish()
    }
}

impl Mapped {
    /// The map if its numbers are aligned in memory.
    fn new(bytes: Bytes, dims: usize, single: bool) -> Option<Mapped> {
        let aligned = if single {
            bytemuck::try_cast_slice::<u8, f32>(&bytes).is_ok()
        } else {
            bytemuck::try_cast_slice::<u8, f64>(&bytes).is_ok()
        };
        aligned.then_some(Mapped { bytes, dims, single })
    }
    pub(crate) fn view(&self) -> kinfold::Result<View<'_>> {
        // The casts were tried in `new`; the empty slice they fall back to is refused as "no rows".
        Ok(if self.single {
            View::F32(Dataset::dense(bytemuck::try_cast_slice(&self.bytes).unwrap_or_default(), self.dims)?)
        } else {
            View::F64(Dataset::dense(bytemuck::try_cast_slice(&self.bytes).unwrap_or_default(), self.dims)?)
        })
    }
    pub(crate) fn dims(&self) -> usize {
        self.dims
    }
}

/// The type of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    F16,
    F32,
    F64,
    Int(bool),
}

#[derive(Debug)]
struct Header {
    sort: Sort,
    size: usize,
    big_endian: bool,
    fortran: bool,
    n: usize,
    dims: usize,
    start: usize,
}

fn damaged(name: &str, what: impl std::fmt::Display) -> ReadError {
    ReadError::new(name, format!("the NPY header is damaged: {what}")).hint("save the array again with numpy.save")
}

fn header(name: &str, bytes: &[u8]) -> Result<Header> {
    if !bytes.starts_with(b"\x93NUMPY") {
        return Err(ReadError::new(name, "this is not an NPY file: its first bytes are wrong")
            .hint("name the format with --format, or save the array with numpy.save"));
    }
    let cut = || ReadError::new(name, "the NPY header ends too early: the file is truncated").hint("copy it again");
    let (length, at) = match *bytes.get(6).ok_or_else(cut)? {
        1 => {
            let b = bytes.get(8..10).ok_or_else(cut)?;
            (usize::from(u16::from_le_bytes([b[0], b[1]])), 10)
        }
        2 | 3 => {
            let b = bytes.get(8..12).ok_or_else(cut)?;
            (u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize, 12)
        }
        version => return Err(damaged(name, format!("its version {version} is unknown"))),
    };
    let dict = bytes.get(at..at + length).ok_or_else(cut)?;
    let dict = std::str::from_utf8(dict).map_err(|_| damaged(name, "it is not text"))?;
    let after = |key: &str| {
        let quoted = [format!("'{key}':"), format!("\"{key}\":")];
        let found = quoted.iter().find_map(|q| dict.find(q.as_str()).map(|i| dict[i + q.len()..].trim_start()));
        found.ok_or_else(|| damaged(name, format!("'{key}' is missing")))
    };
    let descr = after("descr")?;
    let descr = match descr.chars().next() {
        Some(q @ ('\'' | '"')) => descr[1..].split(q).next().unwrap_or_default(),
        _ => {
            return Err(ReadError::new(name, "the array holds records, not numbers")
                .hint("save plain numbers, e.g. with numpy.save(file, x.astype('f8'))"));
        }
    };
    let (sort, size) = match descr.trim_start_matches(['<', '>', '|', '=']) {
        "f2" => (Sort::F16, 2),
        "f4" => (Sort::F32, 4),
        "f8" => (Sort::F64, 8),
        "b1" | "u1" => (Sort::Int(false), 1),
        "u2" => (Sort::Int(false), 2),
        "u4" => (Sort::Int(false), 4),
        "u8" => (Sort::Int(false), 8),
        "i1" => (Sort::Int(true), 1),
        "i2" => (Sort::Int(true), 2),
        "i4" => (Sort::Int(true), 4),
        "i8" => (Sort::Int(true), 8),
        _ => {
            return Err(ReadError::new(name, format!("numbers of the type '{}' are not read", show(descr.as_bytes())))
                .hint("save real numbers, e.g. with numpy.save(file, x.astype('f8'))"));
        }
    };
    let fortran = after("fortran_order")?.starts_with("True");
    let shape = after("shape")?;
    let shape = shape.strip_prefix('(').and_then(|s| s.split_once(')')).map(|(inside, _)| inside);
    let shape = shape.ok_or_else(|| damaged(name, "its shape is no tuple"))?;
    let lengths: Vec<usize> = shape
        .split(',')
        .map(|s| s.trim().trim_end_matches('L'))
        .filter(|s| !s.is_empty())
        .map(|s| s.parse().map_err(|_| damaged(name, format!("its shape has '{}'", show(s.as_bytes())))))
        .collect::<Result<_>>()?;
    let (n, dims) = match lengths[..] {
        [n] => (n, 1),
        [n, dims] => (n, dims),
        _ => {
            let message = format!("the array has {} dimensions; one or two are read", lengths.len());
            return Err(ReadError::new(name, message).hint("save it as rows × columns, e.g. x.reshape(len(x), -1)"));
        }
    };
    if n == 0 || dims == 0 {
        let message = format!("the array of {n} rows and {dims} columns is empty");
        return Err(ReadError::new(name, message).hint("give an array with at least one row and one column"));
    }
    Ok(Header { sort, size, big_endian: descr.starts_with('>'), fortran, n, dims, start: at + length })
}

impl Header {
    /// The number at a place of the file, counted in numbers.
    fn get(&self, data: &[u8], at: usize) -> f64 {
        let mut raw = [0u8; 8];
        let bytes = &data[at * self.size..(at + 1) * self.size];
        // Little-endian, padded at the upper end.
        if self.big_endian {
            raw.iter_mut().zip(bytes.iter().rev()).for_each(|(r, b)| *r = *b);
        } else {
            raw[..self.size].copy_from_slice(bytes);
        }
        let word = u64::from_le_bytes(raw);
        let unused = 64 - 8 * self.size as u32;
        match self.sort {
            Sort::F64 => f64::from_bits(word),
            Sort::F32 => f64::from(f32::from_bits(word as u32)),
            Sort::F16 => half(word as u16),
            Sort::Int(false) => word as f64,
            Sort::Int(true) => ((word << unused) as i64 >> unused) as f64,
        }
    }
    fn place(&self, row: usize, column: usize) -> usize {
        if self.fortran { column * self.n + row } else { row * self.dims + column }
    }
}

/// IEEE half precision, exactly.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + fraction / 1024.0) * 2f64.powi(e - 15),
    }
}

pub(crate) fn read(loaded: &Loaded, options: &ReadOptions) -> Result<DataFile> {
    let name = loaded.name.as_str();
    let h = header(name, &loaded.bytes)?;
    let data = loaded.bytes.slice(h.start..);
    let expected = h.n.checked_mul(h.dims).and_then(|count| count.checked_mul(h.size));
    if expected != Some(data.len()) {
        let shape = format!("{} × {} numbers of {} bytes", h.n, h.dims, h.size);
        return Err(if expected.is_none_or(|e| e > data.len()) {
            let message =
                format!("the header promises {shape}, but only {} bytes follow: the file is truncated", data.len());
            ReadError::new(name, message).hint("copy or save it again")
        } else {
            let message = format!("the header promises {shape}, but {} bytes follow", data.len());
            ReadError::new(name, message).hint("save one array per file")
        });
    }
    let columns: Vec<(String, Holds)> = (0..h.dims).map(|j| (format!("c{j}"), Holds::Numbers)).collect();
    let plan = plan(name, &columns, options)?;
    let text = plan.text.iter().map(|&j| {
        let mut column = TextColumn::new(columns[j].0.as_str());
        (0..h.n).for_each(|row| column.push_display(h.get(&data, h.place(row, j))));
        column
    });
    let text = text.collect();
    let rows = rows(name, &h, data, &plan, &columns, options)?;
    let feature_names = plan.features.iter().map(|&j| columns[j].0.clone()).collect();
    let lines = Lines::None;
    Parts { source: name.to_string(), format: Format::Npy, n: h.n, rows, feature_names, text, lines }.finish(options)
}

fn rows(
    name: &str,
    h: &Header,
    data: Bytes,
    plan: &Plan,
    columns: &[(String, Holds)],
    options: &ReadOptions,
) -> Result<Features> {
    let pool = scan::pool(name, options.threads)?;
    let own = if h.sort == Sort::F32 { Precision::F32 } else { Precision::F64 };
    let precision = options.precision.unwrap_or(own);
    let bad = |row: usize, column: usize, value: f64| {
        ReadError::new(name, format!("row {row} (from 0) holds {value}"))
            .in_column(columns[column].0.as_str())
            .hint("replace it, drop the row, or leave the column out by naming the others with --features")
    };
    let lendable = matches!((h.sort, precision), (Sort::F32, Precision::F32) | (Sort::F64, Precision::F64));
    let everything = plan.features.iter().copied().eq(0..h.dims);
    if lendable
        && everything
        && !h.big_endian
        && (!h.fortran || h.dims == 1 || h.n == 1)
        && cfg!(target_endian = "little")
        && let Some(mapped) = Mapped::new(data.clone(), h.dims, h.sort == Sort::F32)
    {
        let first = if mapped.single {
            first_bad::<f32>(bytemuck::try_cast_slice(&data).unwrap_or_default(), &pool)
        } else {
            first_bad::<f64>(bytemuck::try_cast_slice(&data).unwrap_or_default(), &pool)
        };
        return match first {
            Some((at, value)) => Err(bad(at / h.dims, at % h.dims, value)),
            None => Ok(Features::Mapped(mapped)),
        };
    }
    fn convert<F: Float>(
        name: &str,
        h: &Header,
        data: &[u8],
        plan: &Plan,
        pool: &rayon::ThreadPool,
    ) -> Result<(Table<F>, BadCell)> {
        let dims = plan.features.len();
        let mut values: Vec<F> = zeroed(name, h.n, dims)?;
        if dims > 0 {
            pool.install(|| {
                values.par_chunks_mut(dims * 1024).enumerate().for_each(|(i, chunk)| {
                    for (r, row) in chunk.chunks_exact_mut(dims).enumerate() {
                        for (value, &j) in row.iter_mut().zip(&plan.features) {
                            *value = F::from_f64(h.get(data, h.place(i * 1024 + r, j)));
                        }
                    }
                });
            });
        }
        let first = first_bad(&values, pool);
        Ok((Table::Dense { values, dims }, first))
    }
    let dims = plan.features.len();
    let (rows, first) = match precision {
        Precision::F32 => {
            let (table, first) = convert(name, h, &data, plan, &pool)?;
            (Features::F32(table), first)
        }
        Precision::F64 => {
            let (table, first) = convert(name, h, &data, plan, &pool)?;
            (Features::F64(table), first)
        }
    };
    match first {
        Some((at, value)) => Err(bad(at / dims, plan.features[at % dims], value)),
        None => Ok(rows),
    }
}

/// Place and value of a number that is not finite.
type BadCell = Option<(usize, f64)>;

/// The first value that is not finite.
fn first_bad<F: Float>(values: &[F], pool: &rayon::ThreadPool) -> BadCell {
    const BLOCK: usize = 1 << 16;
    pool.install(|| {
        values.par_chunks(BLOCK).enumerate().find_map_first(|(i, chunk)| {
            // Looking at every value vectorises where a search that may stop does not.
            if !chunk.iter().fold(false, |bad, v| bad | !v.to_f64().is_finite()) {
                return None;
            }
            let at = chunk.iter().position(|v| !v.to_f64().is_finite())?;
            Some((i * BLOCK + at, chunk[at].to_f64()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use crate::table::read_table;
    use proptest::prelude::*;

    fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
        let order = if fortran { "True" } else { "False" };
        let mut dict = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}");
        while !(10 + dict.len() + 1).is_multiple_of(64) {
            dict.push(' ');
        }
        dict.push('\n');
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend((dict.len() as u16).to_le_bytes());
        out.extend(dict.as_bytes());
        out.extend(data);
        out
    }
    fn read_bytes(bytes: Vec<u8>) -> Result<DataFile> {
        read_table(&Input::bytes("x.npy", bytes), &ReadOptions::default())
    }
    fn all(file: &DataFile) -> Vec<f64> {
        use kinfold::data::Rows;
        let of = |rows| match rows {
            Rows::Dense(d) => d,
            Rows::Sparse(_) => panic!(),
        };
        match file.rows.view().unwrap() {
            View::F64(d) => of(d.rows()).values().to_vec(),
            View::F32(d) => match d.rows() {
                Rows::Dense(d) => d.values().iter().map(|&v| f64::from(v)).collect(),
                Rows::Sparse(_) => panic!(),
            },
        }
    }

    #[test]
    fn a_file_of_f32_is_lent_without_a_copy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.npy");
        let values = [1f32, 2.0, 3.0, 4.5, 5.0, 6.0];
        std::fs::write(&path, npy("<f4", false, "3, 2", bytemuck::cast_slice(&values))).unwrap();
        let f = read_table(&Input::from_arg(&path), &ReadOptions::default()).unwrap();
        assert!(matches!(f.rows, Features::Mapped(_)));
        assert!(matches!(f.rows.view().unwrap(), View::F32(_)));
        assert_eq!((f.n(), f.dims(), all(&f)), (3, 2, vec![1.0, 2.0, 3.0, 4.5, 5.0, 6.0]));
        assert_eq!((f.feature_names.join(" "), f.line(0)), ("c0 c1".into(), None));
    }

    #[test]
    fn orders_and_types_are_converted() {
        let expected = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let columns = [1f64, 3.0, 5.0, 2.0, 4.0, 6.0];
        assert_eq!(all(&read_bytes(npy("<f8", true, "3, 2", bytemuck::cast_slice(&columns))).unwrap()), expected);
        let big: Vec<u8> = (1..=6).flat_map(|v| f64::from(v).to_be_bytes()).collect();
        assert_eq!(all(&read_bytes(npy(">f8", false, "3, 2", &big)).unwrap()), expected);
        let ints: Vec<u8> = [-1i16, 2, 300].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(all(&read_bytes(npy("<i2", false, "3,", &ints)).unwrap()), [-1.0, 2.0, 300.0]);
        let bytes: Vec<u8> = vec![0, 255];
        assert_eq!(all(&read_bytes(npy("|u1", false, "2,", &bytes)).unwrap()), [0.0, 255.0]);
        let halves: Vec<u8> = [0x3c00u16, 0xc000, 0x0001, 0x3555].iter().flat_map(|v| v.to_le_bytes()).collect();
        let h = all(&read_bytes(npy("<f2", false, "2, 2", &halves)).unwrap());
        assert_eq!(h[..3], [1.0, -2.0, 2f64.powi(-24)]);
        assert!((h[3] - 1.0 / 3.0).abs() < 1e-3);
    }

    #[test]
    fn columns_can_be_chosen_and_named_as_id_and_truth() {
        let values = [7f64, 1.0, 0.5, 8.0, 2.0, 1.5];
        let o = ReadOptions {
            id: Some("c0".into()),
            truth: Some("c1".into()),
            features: Some(vec!["c2".into()]),
            ..ReadOptions::default()
        };
        let f =
            read_table(&Input::bytes("x.npy", npy("<f8", false, "2, 3", bytemuck::cast_slice(&values))), &o).unwrap();
        assert_eq!((all(&f), f.ids.find("8"), f.truth().unwrap().get(0)), (vec![0.5, 1.5], Some(1), "1"));
    }

    #[test]
    fn bad_arrays_are_named() {
        let message = |bytes: Vec<u8>| {
            let e = read_bytes(bytes).unwrap_err();
            assert!(e.hint.is_some(), "{e}");
            e.to_string()
        };
        let two = bytemuck::cast_slice(&[1f64, f64::NAN]).to_vec();
        assert_eq!(message(npy("<f8", false, "1, 2", &two)), "x.npy: column 'c1': row 0 (from 0) holds NaN");
        assert!(message(npy("<f8", false, "2, 2", &two)).contains("truncated"));
        assert!(message(npy("<f8", false, "1, 1", &two)).contains("16 bytes follow"));
        assert!(message(npy("<f8", false, "4611686018427387904, 4", &two)).contains("truncated"));
        assert!(message(npy("<f8", false, "99999999999999999999999, 4", &two)).contains("damaged"));
        assert!(message(npy("<f8", false, "-1, 4", &two)).contains("damaged"));
        assert!(message(npy("<f8", false, "1, 1, 2", &two)).contains("3 dimensions"));
        assert!(message(npy("<f8", false, "", &two)).contains("0 dimensions"));
        assert!(message(npy("<f8", false, "0, 2", &[])).contains("empty"));
        assert!(message(npy("|O", false, "2,", &two)).contains("type '|O'"));
        assert!(message(npy("<f8", false, "1, 2", &two)[..40].to_vec()).contains("truncated"));
        assert!(message(b"\x93NUMPY\x09\x00\x00\x00".to_vec()).contains("version 9"));
        let forced = ReadOptions { format: Some(Format::Npy), ..ReadOptions::default() };
        assert!(read_table(&Input::bytes("x", "a,b\n1,2\n"), &forced).unwrap_err().message.contains("not an NPY"));
    }

    proptest! {
        #[test]
        fn any_bytes_behind_the_magic_give_a_table_or_an_error(tail in proptest::collection::vec(any::<u8>(), 0..120)) {
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend(tail);
            let _ = read_bytes(bytes);
        }
    }
}
