//! Files for kinfold: tables, answer files, labels and models, with line numbers kept for messages.
//!
//! ```
//! use kinfold_io::{AnswerOptions, Input, ReadOptions, read_answers, read_table};
//!
//! let table = Input::bytes("people.csv", "name,age,height\nAnn,31,1.7\nBob,44,1.8\n");
//! let options = ReadOptions { id: Some("name".into()), ..ReadOptions::default() };
//! let data = read_table(&table, &options)?;
//! assert_eq!((data.n(), data.dims(), data.line(1)), (2, 2, Some(3)));
//!
//! let answers = Input::bytes("answers.csv", "id_a,id_b,answer\nAnn,Bob,different\n");
//! let answers = read_answers(&answers, &data.ids, &AnswerOptions::default())?;
//! let constraints = answers.to_constraints(data.n(), f64::INFINITY).unwrap();
//! assert_eq!(constraints.pairs().len(), 1);
//! # Ok::<(), kinfold_io::ReadError>(())
//! ```

mod answers;
mod append;
mod check;
mod columnar;
mod csv;
mod error;
mod format;
mod ids;
mod input;
mod jsonl;
mod labels;
mod machine;
mod model;
mod npy;
pub mod rules;
mod scan;
mod svmlight;
mod table;
pub mod words;

pub use answers::{
    ANSWER_COLUMNS, Answer, AnswerCounts, AnswerOptions, Answers, Reply, Strength, read_answers, read_answers_alone,
};
pub use append::{AnswerRecord, AnswerWriter, Repair, answer_lines};
pub use check::{check_json, check_text};
pub use error::{ReadError, Result};
pub use format::Format;
pub use ids::Ids;
pub use input::Input;
pub use labels::{LabelFile, read_labels, write_labels};
pub use machine::machine_memory;
pub use model::{MODEL_FORMAT, MODEL_VERSION, ModelFile};
pub use npy::Mapped;
pub use table::{DataFile, Features, Precision, ReadOptions, TextColumn, View, read_table};
