use super::*;
use crate::Input;
use crate::table::read_table;
use proptest::prelude::*;

fn read_with(text: &[u8], options: &ReadOptions) -> Result<DataFile> {
    read_table(&Input::bytes("t.csv", text), options)
}
fn read_text(text: &str) -> Result<DataFile> {
    read_with(text.as_bytes(), &ReadOptions::default())
}
fn message(text: &str) -> String {
    let e = read_text(text).unwrap_err();
    assert!(e.hint.as_ref().is_some_and(|h| !h.is_empty()), "no hint: {e}");
    e.to_string()
}
fn values(file: &DataFile) -> &[f64] {
    match &file.rows {
        Features::F64(Table::Dense { values, .. }) => values,
        other => panic!("{other:?}"),
    }
}
fn options() -> ReadOptions {
    ReadOptions::default()
}

#[test]
fn all_numeric_columns_are_features_and_text_is_not() {
    let f = read_text("a,name,b\n1,x,2.5\n-3e2,y,.5\n").unwrap();
    assert_eq!(f.feature_names, ["a", "b"]);
    assert_eq!(values(&f), [1.0, 2.5, -300.0, 0.5]);
    assert_eq!((f.n(), f.dims(), f.line(0), f.line(1)), (2, 2, Some(2), Some(3)));
}

#[test]
fn a_first_line_of_numbers_is_no_header_unless_told() {
    let f = read_text("1,2\n3,4\n").unwrap();
    assert_eq!((f.n(), f.feature_names.join(" "), f.line(0)), (2, "c0 c1".into(), Some(1)));
    let f = read_with(b"1,2\n3,4\n", &ReadOptions { header: Some(true), ..options() }).unwrap();
    assert_eq!((f.n(), f.feature_names.join(" ")), (1, "1 2".into()));
    let f = read_with(b"a,2\n3,4\n", &ReadOptions { header: Some(false), ..options() });
    assert!(f.unwrap_err().to_string().contains("c0"));
}

#[test]
fn features_id_truth_and_text_columns_play_their_parts() {
    let text = "id,x,y,z,class,photo,seen\n007,1,2,3,u,p1,9\n7,4,5,6,v,,8\n";
    let o = ReadOptions {
        features: Some(vec!["z".into(), "x".into()]),
        id: Some("id".into()),
        truth: Some("class".into()),
        text: vec!["photo".into()],
        keep_other: true,
        ..options()
    };
    let f = read_with(text.as_bytes(), &o).unwrap();
    assert_eq!(values(&f), [3.0, 1.0, 6.0, 4.0]);
    assert_eq!((f.ids.find("007"), f.ids.find("7")), (Some(0), Some(1)));
    assert_eq!(f.truth().unwrap().codes().1, ["u", "v"]);
    assert_eq!(f.text("photo").unwrap().iter().collect::<Vec<_>>(), ["p1", ""]);
    assert_eq!(f.text.iter().map(TextColumn::name).collect::<Vec<_>>(), ["class", "photo", "y", "seen"]);
    let o = ReadOptions { id: Some("id".into()), truth: Some("class".into()), ..options() };
    assert_eq!(read_with(text.as_bytes(), &o).unwrap().feature_names, ["x", "y", "z", "seen"]);
    let o = ReadOptions { text: vec!["class".into()], text_only: true, ..options() };
    let f = read_with(b"id,class\na,b\n", &o).unwrap();
    assert_eq!((f.n(), f.dims()), (1, 0));
}

#[test]
fn a_byte_order_mark_crlf_and_quoted_line_ends_are_read() {
    let f = read_text("\u{feff}a,note\r\n1,\"x\r\ny\"\r\n2,\"say \"\"hi\"\"\"\r\n\r\n3,z\r\n\r\n").unwrap();
    assert_eq!((f.feature_names[0].as_str(), values(&f)), ("a", &[1.0, 2.0, 3.0][..]));
    assert_eq!((0..3).map(|i| f.line(i).unwrap()).collect::<Vec<_>>(), [2, 4, 6]);
    let o = ReadOptions { text: vec!["note".into()], ..options() };
    let f = read_with("a,note\r\n1,\"x\r\ny\"\r\n2,\"say \"\"hi\"\"\"\r\n".as_bytes(), &o).unwrap();
    assert_eq!(f.text("note").unwrap().iter().collect::<Vec<_>>(), ["x\r\ny", "say \"hi\""]);
}

#[test]
fn tabs_semicolons_and_spaces_around_numbers_are_read() {
    assert_eq!(values(&read_text("a;b\n1; 2\n").unwrap()), [1.0, 2.0]);
    assert_eq!(values(&read_text("a\tb\n1\t2 \n").unwrap()), [1.0, 2.0]);
    assert_eq!(values(&read_text("a, b\n\"1\",\"2\"\n").unwrap()), [1.0, 2.0]);
    let f = read_table(&Input::bytes("t.tsv", "a,b\tc\n1\t2\n"), &options()).unwrap();
    assert_eq!(f.feature_names, ["a,b", "c"]);
}

#[test]
fn precision_can_be_forced() {
    let f = read_with(b"a\n0.1\n", &ReadOptions { precision: Some(Precision::F32), ..options() }).unwrap();
    let Features::F32(Table::Dense { values, .. }) = f.rows else { panic!() };
    assert_eq!(values, [0.1f32]);
}

#[test]
fn ragged_rows_are_named() {
    assert_eq!(message("a,b\n1,2\n3\n"), "t.csv:3: the line has 1 field, but the header has 2");
    assert_eq!(message("a,b\n1,2\n3,4,\n"), "t.csv:3: the line has 3 fields, but the header has 2");
    assert_eq!(message("1,2\n3,4,5\n"), "t.csv:2: the line has 3 fields, but the first line has 2");
    let late = format!("a,b\n{}1,2,3\n", "1,2\n".repeat(5000));
    assert_eq!(message(&late), "t.csv:5002: the line has 3 fields, but the header has 2");
    let late = format!("a,b\n{}\"1\"\n", "1,2\n".repeat(5000));
    assert_eq!(message(&late), "t.csv:5002: the line has 1 field, but the header has 2");
}

#[test]
fn cells_that_are_no_finite_numbers_are_named_by_line_column_and_value() {
    for (cell, says) in [
        ("", "the cell is empty"),
        ("NaN", "'NaN' is not a number to cluster by"),
        ("inf", "'inf' is not a finite number"),
        ("-Infinity", "'-Infinity' is not a finite number"),
        ("1e999", "'1e999' is too large a number"),
        ("NA", "'NA' stands for a missing value"),
        ("1,5", "'1,5' is not a number: it has a decimal comma"),
        ("12 kg", "'12 kg' is not a number"),
        ("1.2.3", "'1.2.3' is not a number"),
        ("0x10", "'0x10' is not a number"),
    ] {
        let quoted = if cell.contains(',') { format!("\"{cell}\"") } else { cell.to_string() };
        let expected = |line| format!("t.csv:{line}: column 'b': {says}");
        assert_eq!(message(&format!("a,b,c\n1,2,3\n4,{quoted},6\n")), expected(3));
        let late = format!("a,b,c\n{}4,{quoted},6\n", "1,2,3\n".repeat(4000));
        assert_eq!(message(&late), expected(4002));
    }
}

#[test]
fn a_column_with_mostly_text_is_text_and_one_with_half_numbers_is_not_silently_dropped() {
    let f = read_text("a,b\n1,x\n2,y\n3,4\n").unwrap();
    assert_eq!(f.feature_names, ["a"]);
    assert_eq!(message("a,b\n1,x\n2,3\n"), "t.csv:2: column 'b': 'x' is not a number");
}

#[test]
fn files_without_rows_or_numbers_say_so() {
    assert_eq!(message(""), "t.csv: the file is empty");
    assert_eq!(message("\n \n"), "t.csv: the file is empty");
    assert_eq!(message("a,b\n"), "t.csv:1: there is a header but no row");
    assert_eq!(message("a,b\nx,y\n"), "t.csv: there is no numeric column to cluster by");
    assert_eq!(message("a,b,a\n1,2,3\n"), "t.csv:1: two columns are named 'a' (the 1st and the 3rd)");
    assert!(message("a\0b\n1\n").contains("zero bytes"));
}

#[test]
fn utf16_archives_and_invalid_utf8_are_named() {
    let e = read_with(&[0xff, 0xfe, b'a', 0], &options()).unwrap_err();
    assert!(e.message.contains("UTF-16 (little-endian)"));
    assert!(read_with(&[0xfe, 0xff, 0, b'a'], &options()).unwrap_err().message.contains("UTF-16 (big-endian)"));
    assert!(read_with(b"PK\x03\x04....", &options()).unwrap_err().message.contains("zip"));
    let o = ReadOptions { text: vec!["name".into()], ..options() };
    let e = read_with(b"a,name\n1,x\n2,M\xfcller\n", &o).unwrap_err();
    assert_eq!(e.to_string(), "t.csv:3: column 'name': the text 'M\u{fffd}ller' is not valid UTF-8");
    assert!(read_with(b"a,n\xfcme\n1,x\n", &options()).unwrap_err().message.contains("UTF-8"));
}

#[test]
fn lone_carriage_returns_are_named() {
    for text in ["a,b\r1,2\r3,4\r", "a,b\n1,2\r3,4\n", "a,b\n1\r,2\n"] {
        assert!(message(text).contains("carriage return"), "{text:?}: {}", message(text));
    }
}

#[test]
fn quotes_must_close_and_end_the_field() {
    assert_eq!(message("a,b\n1,x\n2,\"y\n"), "t.csv:3: the quote that opens here is never closed");
    assert_eq!(message("a,b\n1,\"x\"y\n"), "t.csv:2: there is text after the closing quote of 'x'");
    assert_eq!(message("\"a,b\n1,2\n"), "t.csv:1: the quote that opens here is never closed");
    assert_eq!(values(&read_text("a,b\n1,5\" pipe\n2,6\" pipe\n").unwrap()), [1.0, 2.0]);
}

#[test]
fn unknown_columns_are_usage_errors_with_a_suggestion() {
    let text = b"age,height,name\n1,2,x\n";
    let with = |o: ReadOptions| {
        let e = read_with(text, &o).unwrap_err();
        assert!(e.usage, "{e}");
        (e.to_string(), e.hint.unwrap_or_default())
    };
    let (m, h) = with(ReadOptions { features: Some(vec!["heigth".into()]), ..options() });
    assert_eq!(
        (m.as_str(), h.as_str()),
        ("t.csv: there is no column 'heigth' (named by --features)", "did you mean 'height'?")
    );
    let (m, h) = with(ReadOptions { id: Some("key".into()), ..options() });
    assert_eq!(
        (m.as_str(), h.as_str()),
        ("t.csv: there is no column 'key' (named by --id)", "the columns are: age, height, name")
    );
    assert!(with(ReadOptions { truth: Some("Name ".into()), ..options() }).1.contains("'name'"));
    let twice = ReadOptions { features: Some(vec!["age".into(), "age".into()]), ..options() };
    assert!(with(twice).0.contains("twice"));
    let clash = ReadOptions { features: Some(vec!["age".into()]), truth: Some("age".into()), ..options() };
    assert!(with(clash).0.contains("used by --truth"));
}

#[test]
fn repeated_ids_are_an_error_naming_both_lines() {
    let o = ReadOptions { id: Some("id".into()), ..options() };
    let e = read_with(b"id,x\na,1\nb,2\na,3\n", &o).unwrap_err();
    assert_eq!(e.to_string(), "t.csv:4: column 'id': the id 'a' was already given on line 2");
}

#[test]
fn an_empty_line_is_a_missing_cell_in_a_table_of_one_column() {
    assert_eq!(message("a\n1\n\n3\n"), "t.csv:3: column 'a': the cell is empty");
    assert_eq!(values(&read_text("a\n1\n3\n\n\n").unwrap()), [1.0, 3.0]);
}

#[test]
fn gzip_is_read() {
    use std::io::Write;
    let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    e.write_all(b"a\tb\n1\t2\n").unwrap();
    let f = read_table(&Input::bytes("t.tsv.gz", e.finish().unwrap()), &options()).unwrap();
    assert_eq!((values(&f), f.format()), (&[1.0, 2.0][..], Format::Tsv));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn what_is_written_is_read_by_any_number_of_threads_and_chunks(
        rows in proptest::collection::vec((proptest::num::f64::NORMAL | proptest::num::f64::ZERO, "[a-z\",\n\r é]{0,5}", -1000i32..1000), 1..60),
        crlf: bool,
        size in 1usize..64,
        threads in 1usize..4,
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = format!("x,t,i{end}");
        let mut lines = Vec::new();
        let mut line = 2u64;
        for (x, t, i) in &rows {
            lines.push(line);
            text += &format!("{x:e},\"{}\",{i}{end}", t.replace('"', "\"\""));
            line += 1 + t.matches('\n').count() as u64;
        }
        let loaded = Loaded { name: "t.csv".into(), bytes: text.into_bytes().into() };
        let o = ReadOptions { text: vec!["t".into()], threads, delimiter: Some(b','), ..options() };
        let f = read_chunked(&loaded, Format::Csv, &o, size).unwrap();
        let expected: Vec<f64> = rows.iter().flat_map(|(x, _, i)| [*x, f64::from(*i)]).collect();
        prop_assert_eq!(values(&f), &expected[..]);
        prop_assert!(f.text("t").unwrap().iter().eq(rows.iter().map(|r| r.1.as_str())));
        prop_assert!((0..rows.len()).map(|r| f.line(r).unwrap()).eq(lines));
    }

    #[test]
    fn any_bytes_give_a_table_or_an_error(bytes in proptest::collection::vec(prop_oneof![
        Just(b'"'), Just(b','), Just(b'\n'), Just(b'\r'), Just(b'1'), Just(b'.'), Just(b'a'), Just(b';'), Just(b' '), any::<u8>()
    ], 0..80)) {
        let o = ReadOptions { keep_other: true, ..options() };
        let single = ReadOptions { threads: 1, ..o.clone() };
        let a = read_with(&bytes, &o).map(|f| format!("{f:?}"));
        let b = read_with(&bytes, &single).map(|f| format!("{f:?}"));
        prop_assert_eq!(a, b);
    }
}
