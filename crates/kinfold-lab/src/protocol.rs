//! What experiments share: labelled data sets from a folder (or those that come with kinfold), and the papers' ways to
//! draw constraints from known classes.

use std::path::{Path, PathBuf};

use kinfold::constraints::{ConstraintSet, generate};
use kinfold::rng::Rng;
use kinfold_io::{DataFile, Input, ReadOptions, read_table};

/// A paper's protocol with three amounts of constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Okabe & Yamada 2018: 1, 5, 10 % of all pairs, geometric NMI.
    Bckm,
    /// Ganji, Bailey & Stuckey 2016: n/4, n/2, n constraints, half of each kind, arithmetic NMI.
    Lcc,
}

impl Protocol {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Bckm => "bckm",
            Protocol::Lcc => "lcc",
        }
    }
    /// Its amounts.
    pub fn levels(self) -> [&'static str; 3] {
        match self {
            Protocol::Bckm => ["1 %", "5 %", "10 %"],
            Protocol::Lcc => ["n/4", "n/2", "n"],
        }
    }
    /// Its score.
    pub fn score(self) -> &'static str {
        match self {
            Protocol::Bckm => "nmi_geometric",
            Protocol::Lcc => "nmi",
        }
    }
    /// Draws a set of constraints.
    pub fn constraints(self, truth: &[u32], level: usize, set: u64) -> Result<ConstraintSet, String> {
        let rng = &mut Rng::stream(set, self.name(), level as u64);
        let n = truth.len();
        let made = match self {
            Protocol::Bckm => generate::percent(truth, [0.01, 0.05, 0.10][level], rng),
            Protocol::Lcc => generate::balanced(truth, [n / 4, n / 2, n][level], false, rng),
        };
        Ok(made.map_err(|e| e.to_string())?.constraints)
    }
}

/// Data sets that come with kinfold: name, file, column of the classes.
const SHIPPED: [(&str, &str, &str, &[u8]); 2] = [
    ("iris", "iris.csv", "species", include_bytes!("../../../examples/iris.csv")),
    ("wine", "wine.csv", "cultivar", include_bytes!("../../../examples/wine.csv")),
];

/// Where labelled data come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A folder with NAME.csv, NAME.csv.gz or NAME.svmlight, classes in the column `label`.
    Folder(PathBuf),
    /// Only the small sets that come with kinfold.
    Shipped,
}

impl Source {
    /// Does it have a set of that name?
    pub fn has(&self, name: &str) -> bool {
        match self {
            Source::Folder(folder) => path(folder, name).is_some(),
            Source::Shipped => SHIPPED.iter().any(|s| s.0 == name),
        }
    }

    /// Reads the rows and the class of each.
    pub fn read(&self, name: &str) -> Result<(DataFile, Vec<u32>), String> {
        let (input, column) = match self {
            Source::Folder(folder) => {
                let path = path(folder, name).ok_or_else(|| format!("no file for {name} in {}", folder.display()))?;
                (Input::from_arg(path), "label")
            }
            Source::Shipped => {
                let found = SHIPPED.iter().find(|s| s.0 == name);
                let (_, file, column, bytes) = found.ok_or_else(|| format!("{name} does not come with kinfold"))?;
                (Input::bytes(*file, *bytes), *column)
            }
        };
        let options = ReadOptions { truth: Some(column.into()), ..ReadOptions::default() };
        let file = read_table(&input, &options).map_err(|e| e.to_string())?;
        let (codes, _) = file.truth().ok_or_else(|| format!("{name}: there is no column `{column}`"))?.codes();
        let truth =
            codes.into_iter().collect::<Option<Vec<u32>>>().ok_or_else(|| format!("{name}: a class is empty"))?;
        Ok((file, truth))
    }
}

fn path(folder: &Path, name: &str) -> Option<PathBuf> {
    ["csv", "svmlight", "csv.gz"].iter().map(|e| folder.join(format!("{name}.{e}"))).find(|p| p.exists())
}

/// Number of classes.
pub fn classes(truth: &[u32]) -> usize {
    truth.iter().max().map_or(1, |&m| m as usize + 1)
}
