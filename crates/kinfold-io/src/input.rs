//! Where bytes come from: a file (memory-mapped), standard input, or memory. Gzip is undone by its magic bytes.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::error::{ReadError, Result};
use crate::scan::MAX_RECORD;

/// Something to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file.
    Path(PathBuf),
    /// Standard input, `-`.
    Stdin,
    /// Bytes in memory under a name; cloning shares them.
    Bytes(String, Bytes),
}

impl Input {
    /// What a command line argument means: `-` is standard input.
    pub fn from_arg(arg: impl AsRef<Path>) -> Input {
        if arg.as_ref() == Path::new("-") { Input::Stdin } else { Input::Path(arg.as_ref().to_path_buf()) }
    }
    /// Bytes in memory; the name's extension counts like a file's.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Input {
        Input::Bytes(name.into(), Bytes::from(bytes.into()))
    }
    /// The name used in messages.
    pub fn name(&self) -> String {
        match self {
            Input::Path(path) => path.display().to_string(),
            Input::Stdin => "<stdin>".into(),
            Input::Bytes(name, _) => name.clone(),
        }
    }

    /// All bytes, without gzip.
    pub(crate) fn load(&self) -> Result<Loaded> {
        let name = self.name();
        let raw = match self {
            Input::Bytes(_, bytes) => bytes.clone(),
            Input::Stdin => read_guarded(&name, std::io::stdin().lock(), false)?,
            Input::Path(path) => map(&name, path)?,
        };
        if !raw.starts_with(&[0x1f, 0x8b]) {
            return Ok(Loaded { name, bytes: raw });
        }
        let bytes = read_guarded(&name, flate2::bufread::MultiGzDecoder::new(&raw[..]), true)?;
        Ok(Loaded { name, bytes })
    }
}

/// The bytes of an input.
pub(crate) struct Loaded {
    /// Name for messages.
    pub name: String,
    /// The bytes, decompressed.
    pub bytes: Bytes,
}

fn map(name: &str, path: &Path) -> Result<Bytes> {
    let file = File::open(path).map_err(|e| ReadError::io(name, "opening it", &e))?;
    let meta = file.metadata().map_err(|e| ReadError::io(name, "opening it", &e))?;
    if meta.is_dir() {
        return Err(ReadError::io(name, "", &std::io::ErrorKind::IsADirectory.into()));
    }
    if !meta.is_file() || meta.len() == 0 {
        // Pipes and devices cannot be mapped, nor can nothing.
        return read_guarded(name, file, false);
    }
    // SAFETY: the map is only read, as bytes, for which every value is valid. Another process that shortens the file
    // meanwhile can make reading fail with a signal; every tool that maps files accepts that.
    #[allow(unsafe_code)]
    let mapped = unsafe { memmap2::Mmap::map(&file) };
    match mapped {
        Ok(mapped) => Ok(Bytes::from_owner(mapped)),
        Err(_) => read_guarded(name, file, false),
    }
}

/// Reads a stream to its end; a text line beyond the limit stops it there instead of filling memory.
fn read_guarded(name: &str, mut from: impl Read, gzip: bool) -> Result<Bytes> {
    let mut all: Vec<u8> = Vec::new();
    let (mut line_start, mut checked) = (0usize, 0usize);
    let mut buffer = vec![0u8; 1 << 18];
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) if gzip => {
                let message = match e.kind() {
                    std::io::ErrorKind::UnexpectedEof => "the gzip data end too early: the file is truncated".into(),
                    _ => format!("the gzip data are damaged: {e}"),
                };
                return Err(ReadError::new(name, message).hint("fetch or compress the file again"));
            }
            Err(e) => return Err(ReadError::io(name, "reading it", &e)),
        };
        all.extend_from_slice(&buffer[..n]);
        if !is_binary(&all) {
            if let Some(at) = memchr::memrchr(b'\n', &all[checked..]) {
                line_start = checked + at + 1;
            }
            checked = all.len();
            if all.len() - line_start > MAX_RECORD {
                return Err(too_long(name, 1 + memchr::memchr_iter(b'\n', &all[..line_start]).count() as u64));
            }
        }
    }
    Ok(Bytes::from(all))
}

pub(crate) fn too_long(name: &str, line: u64) -> ReadError {
    ReadError::new(name, format!("the line is longer than {} MiB", MAX_RECORD >> 20))
        .at_line(line)
        .hint("check that the file is a table with one row per line, and not damaged")
}

/// Does it start like a format that has no lines?
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PAR1")
        || bytes.starts_with(b"ARROW1")
        || bytes.starts_with(b"\x93NUMPY")
        || bytes.starts_with(&[0xff, 0xff, 0xff, 0xff])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    pub(crate) fn gzip(data: &[u8]) -> Vec<u8> {
        let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        e.write_all(data).unwrap();
        e.finish().unwrap()
    }

    #[test]
    fn missing_files_and_directories_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let e = Input::from_arg(dir.path()).load().err().unwrap();
        assert!(e.to_string().ends_with("this is a directory, not a file"), "{e}");
        let e = Input::from_arg(dir.path().join("x.csv")).load().err().unwrap();
        assert!(e.to_string().ends_with("x.csv: there is no such file"), "{e}");
    }

    #[test]
    fn gzip_is_undone_and_its_truncation_named() {
        let data = b"a,b\n1,2\n".repeat(1000);
        let packed = gzip(&data);
        assert_eq!(&Input::bytes("x.csv.gz", packed.clone()).load().unwrap().bytes[..], &data[..]);
        let e = Input::bytes("x.csv.gz", &packed[..packed.len() / 2]).load().err().unwrap();
        assert!(e.message.contains("truncated"), "{e}");
        let mut bad = packed;
        bad[20] ^= 0xff;
        assert!(Input::bytes("x.csv.gz", bad).load().is_err());
    }

    #[test]
    fn a_stream_with_an_endless_line_is_refused_before_it_is_all_read() {
        struct Endless(usize);
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                self.0 += buffer.len();
                assert!(self.0 < MAX_RECORD + (1 << 22), "read on beyond the limit");
                buffer.fill(b'1');
                buffer[0] = if self.0 == buffer.len() { b'\n' } else { b'1' };
                Ok(buffer.len())
            }
        }
        let e = read_guarded("big", Endless(0), false).err().unwrap();
        assert_eq!(e.to_string(), "big:2: the line is longer than 256 MiB");
    }
}
