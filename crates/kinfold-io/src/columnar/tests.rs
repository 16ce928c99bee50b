use super::*;
use crate::input::Input;
use crate::table::{View, read_table};
use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, ListBuilder};
use arrow_array::{
    BooleanArray, DictionaryArray, Float32Array, Float64Array, Int64Array, StringArray, types::Int32Type,
};
use arrow_schema::Field;
use std::sync::Arc;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> = columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, a)| a).collect()).unwrap()
}
fn parquet_bytes(batch: &RecordBatch, group: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let p = parquet::file::properties::WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_compression(parquet::basic::Compression::SNAPPY)
        .build();
    let mut w = parquet::arrow::ArrowWriter::try_new(&mut out, batch.schema(), Some(p)).unwrap();
    w.write(batch).unwrap();
    w.close().unwrap();
    out
}
fn file_bytes(batch: &RecordBatch) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = arrow_ipc::writer::FileWriter::try_new(&mut out, &batch.schema()).unwrap();
    for at in (0..batch.num_rows()).step_by(2) {
        w.write(&batch.slice(at, 2.min(batch.num_rows() - at))).unwrap();
    }
    w.finish().unwrap();
    drop(w);
    out
}
fn stream_bytes(batch: &RecordBatch) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = arrow_ipc::writer::StreamWriter::try_new(&mut out, &batch.schema()).unwrap();
    w.write(batch).unwrap();
    w.finish().unwrap();
    drop(w);
    out
}
fn every_form(batch: &RecordBatch) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("t.parquet", parquet_bytes(batch, 2)),
        ("t.parquet", parquet_bytes(batch, 100)),
        ("t.arrow", file_bytes(batch)),
        ("t.arrows", stream_bytes(batch)),
    ]
}
fn values(file: &DataFile) -> Vec<f64> {
    match &file.rows {
        Features::F64(Table::Dense { values, .. }) => values.clone(),
        Features::F32(Table::Dense { values, .. }) => values.iter().map(|&v| f64::from(v)).collect(),
        other => panic!("{other:?}"),
    }
}
fn vectors(fixed: bool) -> ArrayRef {
    let rows = [[1f32, 2.0], [3.0, 4.0], [5.0, 6.0]];
    if fixed {
        let mut b = FixedSizeListBuilder::new(Float32Builder::new(), 2);
        for row in rows {
            b.values().append_slice(&row);
            b.append(true);
        }
        Arc::new(b.finish())
    } else {
        let mut b = ListBuilder::new(Float32Builder::new());
        for row in rows {
            b.values().append_slice(&row);
            b.append(true);
        }
        Arc::new(b.finish())
    }
}

#[test]
fn numbers_lists_strings_and_dictionaries_are_read_from_every_form() {
    for fixed in [true, false] {
        let words: DictionaryArray<Int32Type> = vec![Some("a"), None, Some("a")].into_iter().collect();
        let b = batch(vec![
            ("id", Arc::new(StringArray::from(vec!["007", "7", "x"]))),
            ("i", Arc::new(Int64Array::from(vec![10, -20, 30]))),
            ("word", Arc::new(words)),
            ("v", vectors(fixed)),
            ("d", Arc::new(Float64Array::from(vec![0.1, 0.2, 0.3]))),
            ("flag", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ]);
        for (name, bytes) in every_form(&b) {
            let o = ReadOptions { id: Some("id".into()), keep_other: true, ..ReadOptions::default() };
            let f = read_table(&Input::bytes(name, bytes.clone()), &o).unwrap();
            assert_eq!(f.feature_names, ["i", "v[0]", "v[1]", "d"], "{name}");
            assert_eq!(values(&f), [10.0, 1.0, 2.0, 0.1, -20.0, 3.0, 4.0, 0.2, 30.0, 5.0, 6.0, 0.3]);
            assert!(matches!(f.rows.view().unwrap(), View::F64(_)));
            assert_eq!((f.ids.find("007"), f.ids.find("7"), f.line(0)), (Some(0), Some(1), None));
            assert_eq!(f.text("word").unwrap().iter().collect::<Vec<_>>(), ["a", "", "a"]);
            assert_eq!(f.text("flag").unwrap().iter().collect::<Vec<_>>(), ["true", "false", "true"]);
            let o = ReadOptions {
                features: Some(vec!["flag".into(), "v".into()]),
                truth: Some("i".into()),
                threads: 1,
                ..ReadOptions::default()
            };
            let f = read_table(&Input::bytes(name, bytes), &o).unwrap();
            assert_eq!(values(&f), [1.0, 1.0, 2.0, 0.0, 3.0, 4.0, 1.0, 5.0, 6.0]);
            assert_eq!(f.truth().unwrap().get(1), "-20");
        }
    }
}

#[test]
fn single_precision_stays_unless_a_column_needs_more() {
    let b = batch(vec![
        ("x", Arc::new(Float32Array::from(vec![0.1f32, 0.2]))),
        ("s", Arc::new(StringArray::from(vec!["a", "b"]))),
    ]);
    for (name, bytes) in every_form(&b) {
        let f = read_table(&Input::bytes(name, bytes.clone()), &ReadOptions::default()).unwrap();
        assert!(matches!(f.rows.view().unwrap(), View::F32(_)), "{name}");
        let o = ReadOptions { precision: Some(Precision::F64), ..ReadOptions::default() };
        let f = read_table(&Input::bytes(name, bytes), &o).unwrap();
        assert_eq!(values(&f), [f64::from(0.1f32), f64::from(0.2f32)]);
    }
}

#[test]
fn nulls_and_nan_in_features_are_named_by_row() {
    let nulls = batch(vec![("x", Arc::new(Float64Array::from(vec![Some(1.0), Some(2.0), None])))]);
    let nan = batch(vec![("x", Arc::new(Float64Array::from(vec![1.0, 2.0, f64::NAN])))]);
    let mut b = ListBuilder::new(Float32Builder::new());
    for row in [&[1f32, 2.0][..], &[3.0, 4.0], &[5.0]] {
        b.values().append_slice(row);
        b.append(true);
    }
    let ragged = batch(vec![("x", Arc::new(b.finish()))]);
    for (data, what) in [(nulls, "no value"), (nan, "NaN"), (ragged, "1 numbers, but row 0 has 2")] {
        for (name, bytes) in every_form(&data) {
            let e = read_table(&Input::bytes(name, bytes), &ReadOptions::default()).unwrap_err();
            assert_eq!(e.to_string(), format!("{name}: column 'x': row 2 (from 0) holds {what}"));
            assert!(e.hint.is_some());
        }
    }
}

#[test]
fn text_columns_cannot_be_features_and_empty_tables_say_so() {
    let b = batch(vec![("s", Arc::new(StringArray::from(vec!["a"])))]);
    let empty = batch(vec![("x", Arc::new(Float64Array::from(Vec::<f64>::new())))]);
    for (name, bytes) in every_form(&b) {
        let o = ReadOptions { features: Some(vec!["s".into()]), ..ReadOptions::default() };
        assert!(read_table(&Input::bytes(name, bytes.clone()), &o).unwrap_err().usage);
        let e = read_table(&Input::bytes(name, bytes), &ReadOptions::default()).unwrap_err();
        assert!(e.message.contains("no numeric column"), "{e}");
    }
    for (name, bytes) in every_form(&empty) {
        let e = read_table(&Input::bytes(name, bytes), &ReadOptions::default()).unwrap_err();
        assert!(e.message.contains("no row"), "{e}");
    }
}

#[test]
fn truncated_and_foreign_files_are_errors_not_panics() {
    let b = batch(vec![
        ("x", Arc::new(Float64Array::from((0..500).map(f64::from).collect::<Vec<_>>()))),
        ("s", Arc::new(StringArray::from((0..500).map(|i| format!("s{i}")).collect::<Vec<_>>()))),
    ]);
    for (name, bytes) in every_form(&b) {
        for end in [4, 6, 12, bytes.len() / 2, bytes.len() - 12, bytes.len() - 1] {
            let got = read_table(&Input::bytes(name, &bytes[..end]), &ReadOptions::default());
            // A stream without its end mark is whole up to there.
            if let Ok(f) = got {
                assert_eq!((name, f.n()), ("t.arrows", 500));
            }
        }
    }
    for format in [Format::Parquet, Format::ArrowIpc] {
        let o = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let e = read_table(&Input::bytes("t", "a,b\n1,2\n"), &o).unwrap_err();
        assert!(e.message.contains("damaged or truncated") && e.hint.is_some(), "{e}");
    }
}
