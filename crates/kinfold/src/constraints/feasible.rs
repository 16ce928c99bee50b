//! Can the cannot-links be kept with k clusters?

/// Why no clustering into k clusters keeps every cannot-link.
#[derive(Debug, Clone, PartialEq)]
pub struct Infeasible {
    /// The k asked for.
    pub k: usize,
}

impl std::fmt::Display for Infeasible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no clustering into {} clusters keeps every cannot-link", self.k)
    }
}
