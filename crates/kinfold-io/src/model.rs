//! Model files: one JSON object `{"format": "kinfold-model", "version": 1, "written_by": …, "model": …}`.
//! Numbers are written so that they read back to the same bits.

use std::io::Write;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{ReadError, Result};
use crate::input::Input;

/// The name in every model file.
pub const MODEL_FORMAT: &str = "kinfold-model";
/// The version that is written; all versions up to it are read.
pub const MODEL_VERSION: u32 = 1;

/// A model in its envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelFile<T> {
    /// Always [`MODEL_FORMAT`].
    pub format: String,
    /// Version of the envelope and what it holds.
    pub version: u32,
    /// The program that wrote it.
    pub written_by: String,
    /// The model.
    pub model: T,
}

/// What is looked at before the model itself.
#[derive(Deserialize)]
struct Envelope {
    format: Option<String>,
    version: Option<u64>,
    written_by: Option<String>,
}

impl<T> ModelFile<T> {
    /// Puts a model into its envelope.
    pub fn new(model: T) -> ModelFile<T> {
        let written_by = format!("kinfold {}", env!("CARGO_PKG_VERSION"));
        ModelFile { format: MODEL_FORMAT.into(), version: MODEL_VERSION, written_by, model }
    }
}

impl<T: Serialize> ModelFile<T> {
    /// Writes the model, with a line end.
    pub fn write(&self, name: &str, mut out: impl Write) -> Result<()> {
        let fail = |e: std::io::Error| ReadError::io(name, "writing to it", &e);
        serde_json::to_writer(&mut out, self).map_err(|e| fail(e.into()))?;
        out.write_all(b"\n").and_then(|()| out.flush()).map_err(fail)
    }
}

impl<T: DeserializeOwned> ModelFile<T> {
    /// Reads a model; foreign files and newer versions are named as such.
    pub fn read(input: &Input) -> Result<ModelFile<T>> {
        let loaded = input.load()?;
        let name = loaded.name.as_str();
        let foreign = |why: String| {
            ReadError::new(name, format!("this is not a kinfold model: {why}"))
                .hint("write one with `kinfold cluster … --save FILE`")
        };
        let envelope: Envelope = serde_json::from_slice(&loaded.bytes).map_err(|e| {
            let line = e.line() as u64;
            if e.is_eof() && loaded.bytes.trim_ascii_start().starts_with(b"{") {
                return ReadError::new(name, "the model file ends too early: it is truncated").hint("write it again");
            }
            foreign(format!("it is not a JSON object ({e})")).at_line(line.max(1))
        })?;
        if envelope.format.as_deref() != Some(MODEL_FORMAT) {
            return Err(foreign(match envelope.format {
                Some(format) => format!("its format is '{format}'"),
                None => "it has no field 'format'".into(),
            }));
        }
        match envelope.version {
            None | Some(0) => return Err(foreign("it has no version".into())),
            Some(version) if version > u64::from(MODEL_VERSION) => {
                let by = envelope.written_by.map(|by| format!(" (written by {by})")).unwrap_or_default();
                let message = format!(
                    "the model has version {version}{by}, but this program reads versions up to {MODEL_VERSION}"
                );
                return Err(ReadError::new(name, message).hint("use a newer kinfold, or fit the model again"));
            }
            Some(_) => {}
        }
        serde_json::from_slice(&loaded.bytes).map_err(|e| {
            ReadError::new(name, format!("the model is damaged: {e}"))
                .at_line(e.line().max(1) as u64)
                .hint("fit the model again")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<ModelFile<Vec<f64>>> {
        ModelFile::read(&Input::bytes("m.json", text))
    }

    proptest! {
        #[test]
        fn numbers_come_back_to_the_bit(values in proptest::collection::vec(proptest::num::f64::NORMAL, 0..20)) {
            let mut out = Vec::new();
            ModelFile::new(values.clone()).write("m", &mut out).unwrap();
            let back: ModelFile<Vec<f64>> = ModelFile::read(&Input::bytes("m", out)).unwrap();
            prop_assert_eq!(back.model, values);
        }
    }

    #[test]
    fn foreign_newer_truncated_and_damaged_files_are_told_apart() {
        assert!(read("a,b\n").unwrap_err().message.contains("not a kinfold model: it is not a JSON object"));
        assert!(read("{\"x\":1}").unwrap_err().message.contains("no field 'format'"));
        assert!(read("{\"format\":\"other\"}").unwrap_err().message.contains("'other'"));
        assert!(read("{\"format\":\"kinfold-model\"}").unwrap_err().message.contains("no version"));
        let newer = "{\"format\":\"kinfold-model\",\"version\":2,\"written_by\":\"kinfold 9\",\"model\":{}}";
        assert_eq!(
            read(newer).unwrap_err().message,
            "the model has version 2 (written by kinfold 9), but this program reads versions up to 1"
        );
        assert!(read("{\"format\":\"kinfold-model\",\"ver").unwrap_err().message.contains("truncated"));
        let damaged = "{\"format\":\"kinfold-model\",\"version\":1,\"written_by\":\"k\",\"model\":\"x\"}";
        assert!(read(damaged).unwrap_err().message.contains("damaged"));
        assert!(read("").is_err());
    }
}
