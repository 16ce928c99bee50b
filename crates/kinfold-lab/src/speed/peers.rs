//! Other people's clustering in a throw-away Python environment, driven over a pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Packages from PyPI.
const PACKAGES: [&str; 5] =
    ["scikit-learn", "faiss-cpu", "active-semi-supervised-clustering", "htcopkmeans", "pyarrow"];

/// What a peer answered.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
pub struct Answer {
    pub seconds: f64,
    pub objective: f64,
    pub iterations: usize,
    pub failed: Option<String>,
}

pub struct Peers {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// Packages that did not install.
    pub missing: Vec<String>,
    /// Name and version of those that did.
    pub versions: Vec<String>,
    folder: Option<PathBuf>,
}

impl Peers {
    /// Makes the environment, in `given` (kept) or in a folder that is removed at the end.
    pub fn new(given: Option<&Path>, threads: usize) -> Result<Peers, String> {
        let folder = given.map_or_else(
            || std::env::temp_dir().join(format!("kinfold-peers-{}", std::process::id())),
            Path::to_path_buf,
        );
        let say = |e: std::io::Error| format!("{}: {e}", folder.display());
        let python = folder.join("bin").join("python");
        if !python.exists() {
            let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).status().map_err(say)?;
            if !made.success() {
                return Err("python3 -m venv failed".to_owned());
            }
        }
        let mut missing = Vec::new();
        let mut versions = Vec::new();
        for package in PACKAGES {
            let shown = || Command::new(&python).args(["-m", "pip", "show", package]).output();
            let version = |o: std::process::Output| {
                let text = String::from_utf8_lossy(&o.stdout).into_owned();
                text.lines().find_map(|l| l.strip_prefix("Version: ")).map(str::to_owned)
            };
            let mut found = shown().ok().and_then(version);
            if found.is_none() {
                eprintln!("installing {package}");
                let _ = Command::new(&python).args(["-m", "pip", "install", "-q", package]).status();
                found = shown().ok().and_then(version);
            }
            match found {
                Some(version) => versions.push(format!("{package} {version}")),
                None => missing.push(package.to_owned()),
            }
        }
        let mut child = Command::new(&python)
            .args(["-c", include_str!("peers.py")])
            .env("OMP_NUM_THREADS", threads.to_string())
            .env("OPENBLAS_NUM_THREADS", threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(say)?;
        let to = child.stdin.take().ok_or("no pipe to Python")?;
        let from = BufReader::new(child.stdout.take().ok_or("no pipe from Python")?);
        let folder = given.is_none().then_some(folder);
        Ok(Peers { child, to, from, missing, versions, folder })
    }

    /// Sends a request and waits for the answer.
    pub fn ask(&mut self, request: &serde_json::Value) -> Answer {
        let failed = |why: String| Answer { failed: Some(why), ..Answer::default() };
        if let Err(e) = writeln!(self.to, "{request}").and_then(|()| self.to.flush()) {
            return failed(e.to_string());
        }
        let mut line = String::new();
        match self.from.read_line(&mut line) {
            Ok(_) => serde_json::from_str(&line).unwrap_or_else(|e| failed(format!("{e}: {line}"))),
            Err(e) => failed(e.to_string()),
        }
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
