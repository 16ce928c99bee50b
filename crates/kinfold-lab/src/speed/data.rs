//! Data for the speed bench: mixtures with known classes, starting centres, constraints, and NPY files for the peers.

use std::io::Write;
use std::path::{Path, PathBuf};

use kinfold::constraints::{ConstraintSet, Kind, generate};
use kinfold::data::{Float, Matrix};
use kinfold::rng::Rng;

/// Rows of a mixture of k round normal classes.
pub struct Mixture {
    pub values: Vec<f32>,
    pub dims: usize,
    pub k: usize,
    pub truth: Vec<u32>,
}

impl Mixture {
    /// Class centres are normal with deviation `spread`, rows around them with deviation 1.
    pub fn new(n: usize, dims: usize, k: usize, spread: f64) -> Mixture {
        let mut rng = Rng::stream(20, "speed", (n * 31 + dims * 7 + k) as u64);
        let centres: Vec<f64> = (0..k * dims).map(|_| spread * rng.normal()).collect();
        let mut values = Vec::with_capacity(n * dims);
        let mut truth = Vec::with_capacity(n);
        for _ in 0..n {
            let class = rng.below(k);
            truth.push(class as u32);
            values.extend(centres[class * dims..(class + 1) * dims].iter().map(|c| (c + rng.normal()) as f32));
        }
        Mixture { values, dims, k, truth }
    }

    pub fn n(&self) -> usize {
        self.truth.len()
    }

    /// Rows drawn as starting centres.
    pub fn start(&self) -> Matrix {
        let mut rng = Rng::stream(21, "speed start", self.n() as u64);
        let mut centres = Matrix::zeros(0, self.dims);
        for row in rng.sample(self.n(), self.k) {
            let row = &self.values[row * self.dims..(row + 1) * self.dims];
            centres.push(&row.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>());
        }
        centres
    }

    /// Half must-links, half cannot-links, all true.
    pub fn constraints(&self, count: usize) -> Result<ConstraintSet, String> {
        let mut rng = Rng::stream(22, "speed constraints", count as u64);
        Ok(generate::balanced(&self.truth, count, false, &mut rng).map_err(|e| e.to_string())?.constraints)
    }
}

/// A folder that goes away with the value.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Result<Folder, String> {
        let path = std::env::temp_dir().join(format!("kinfold-speed-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| e.to_string())?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes rows as NPY, f32 or f64 by the type.
pub fn write_npy<F: Float>(
    path: &Path,
    values: impl Iterator<Item = F>,
    rows: usize,
    dims: usize,
) -> Result<(), String> {
    let wide = F::NAME == "f64";
    let code = if wide { "<f8" } else { "<f4" };
    let mut header = format!("{{'descr': '{code}', 'fortran_order': False, 'shape': ({rows}, {dims}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let say = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut out = std::io::BufWriter::with_capacity(1 << 20, std::fs::File::create(path).map_err(say)?);
    out.write_all(b"\x93NUMPY\x01\x00").map_err(say)?;
    out.write_all(&(header.len() as u16).to_le_bytes()).map_err(say)?;
    out.write_all(header.as_bytes()).map_err(say)?;
    for value in values {
        if wide {
            out.write_all(&value.to_f64().to_le_bytes()).map_err(say)?;
        } else {
            out.write_all(&(value.to_f64() as f32).to_le_bytes()).map_err(say)?;
        }
    }
    out.flush().map_err(say)
}

/// Writes pairs as an NPY of rows a, b, same.
pub fn write_pairs(path: &Path, given: &ConstraintSet) -> Result<(), String> {
    let values = given
        .pairs()
        .iter()
        .flat_map(|p| [f64::from(p.a), f64::from(p.b), f64::from(u8::from(p.kind == Kind::MustLink))]);
    write_npy(path, values, given.pairs().len(), 3)
}
