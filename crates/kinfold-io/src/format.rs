//! The formats of tables and how they are told apart: magic bytes first, then the extension, then the first lines.

use crate::input::is_binary;

/// A table's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Comma (or semicolon) separated.
    Csv,
    /// Tab separated.
    Tsv,
    /// One JSON object per line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC, file or stream.
    ArrowIpc,
    /// NumPy's .npy.
    Npy,
    /// Sparse `label index:value …`.
    SvmLight,
}

impl Format {
    /// All formats with their names, as on the command line.
    pub const ALL: [(&'static str, Format); 7] = [
        ("csv", Format::Csv),
        ("tsv", Format::Tsv),
        ("jsonl", Format::Jsonl),
        ("parquet", Format::Parquet),
        ("arrow", Format::ArrowIpc),
        ("npy", Format::Npy),
        ("svmlight", Format::SvmLight),
    ];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        Format::ALL.iter().find(|(_, f)| *f == self).map_or("csv", |(name, _)| name)
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, f)| *f)
    }

    /// What a file of this name and (decompressed) content is.
    pub fn sniff(name: &str, bytes: &[u8]) -> Format {
        if bytes.starts_with(b"PAR1") {
            return Format::Parquet;
        }
        if bytes.starts_with(b"\x93NUMPY") {
            return Format::Npy;
        }
        if is_binary(bytes) {
            return Format::ArrowIpc;
        }
        let lower = name.to_ascii_lowercase();
        let stem = lower.strip_suffix(".gz").unwrap_or(&lower);
        match stem.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "csv" => return Format::Csv,
            "tsv" | "tab" => return Format::Tsv,
            "jsonl" | "ndjson" | "json" => return Format::Jsonl,
            "parquet" | "pq" => return Format::Parquet,
            "arrow" | "feather" | "ipc" | "arrows" => return Format::ArrowIpc,
            "npy" => return Format::Npy,
            "svm" | "svmlight" | "libsvm" => return Format::SvmLight,
            _ => {}
        }
        Format::sniff_text(bytes)
    }

    fn sniff_text(bytes: &[u8]) -> Format {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let head = &bytes[..bytes.len().min(1 << 16)];
        let mut lines = head.split(|&b| b == b'\n').map(|line| line.trim_ascii()).filter(|line| !line.is_empty());
        let Some(first) = lines.next() else { return Format::Csv };
        if first.starts_with(b"{") {
            return Format::Jsonl;
        }
        let sparse = |line: &[u8]| {
            let line = line.split(|&b| b == b'#').next().unwrap_or_default().trim_ascii();
            let mut tokens = line.split(|b| b.is_ascii_whitespace()).filter(|t| !t.is_empty());
            tokens.next().is_some_and(|label| fast_float2::parse::<f64, _>(label).is_ok()) && {
                let mut pairs = tokens.peekable();
                pairs.peek().is_some()
                    && pairs.all(|pair| {
                        pair.iter().position(|&b| b == b':').is_some_and(|at| {
                            let index = &pair[..at];
                            index == b"qid" || !index.is_empty() && index.iter().all(u8::is_ascii_digit)
                        })
                    })
            }
        };
        let data = std::iter::once(first).chain(lines).find(|line| !line.starts_with(b"#"));
        if data.is_some_and(sparse) {
            return Format::SvmLight;
        }
        let tabs = first.iter().filter(|&&b| b == b'\t').count();
        let commas = first.iter().filter(|&&b| b == b',').count();
        if tabs > commas { Format::Tsv } else { Format::Csv }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_magic_then_extension_then_content() {
        let s = |name, bytes: &[u8]| Format::sniff(name, bytes);
        assert_eq!(s("x.csv", b"PAR1...."), Format::Parquet);
        assert_eq!(s("x", b"\x93NUMPY\x01\x00"), Format::Npy);
        assert_eq!(s("x", b"ARROW1\0\0"), Format::ArrowIpc);
        assert_eq!(s("x.TSV.gz", b"a,b"), Format::Tsv);
        assert_eq!(s("-", b"{\"a\":1}\n"), Format::Jsonl);
        assert_eq!(s("-", b"# comment\n1 1:0.5 7:2\n"), Format::SvmLight);
        assert_eq!(s("-", b"-1 qid:3 2:1\n"), Format::SvmLight);
        assert_eq!(s("-", b"a\tb\n1\t2\n"), Format::Tsv);
        assert_eq!(s("-", b"12:30,1\n"), Format::Csv);
        assert_eq!(s("-", b""), Format::Csv);
        for (name, format) in Format::ALL {
            assert_eq!((Format::from_name(name), format.name()), (Some(format), name));
        }
    }
}
