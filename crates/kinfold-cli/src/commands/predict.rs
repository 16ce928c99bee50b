//! `kinfold predict`: labels for new rows from a saved model.

use kinfold::pipeline::Model;
use kinfold_io::{Input, ModelFile, View};
use serde_json::json;

use crate::args::PredictArgs;
use crate::commands::SCHEMA_VERSION;
use crate::load;
use crate::session::{Done, Session, count};

pub fn run(session: &Session, args: &PredictArgs) -> Done {
    let model: Model = ModelFile::read(&Input::from_arg(&args.model))?.model;
    // The model knows its columns: a file may have others, and in another order.
    let mut columns = args.data.columns.clone();
    if columns.features.is_none() && !model.features.is_empty() {
        columns.features = Some(model.features.clone());
    }
    let file = load::table(session, &args.data.data, &columns, None, None)?;
    let labels = match file.rows.view()? {
        View::F32(data) => model.predict(session.ctx(), &data)?,
        View::F64(data) => model.predict(session.ctx(), &data)?,
    };
    if session.json {
        session.print_json(&json!({
            "schema_version": SCHEMA_VERSION, "method": model.method, "k": model.k, "n": labels.len(), "labels": labels,
        }))?;
    } else {
        session.write_labels(args.output.as_deref(), &file.ids, &labels)?;
    }
    session.say(format!("{}: {} labelled by {}", file.source, count(labels.len(), "row"), args.model));
    Ok(0)
}
