//! Numbers and counts as people read them.

/// 1234567 → 1,234,567.
pub fn thousands(n: impl TryInto<u128>) -> String {
    let digits = n.try_into().unwrap_or_default().to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// "1 row", "2 rows".
pub fn count(n: impl TryInto<u128>, what: &str) -> String {
    let n = n.try_into().unwrap_or_default();
    format!("{} {what}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// Six significant digits, without trailing zeros.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(thousands(1234567u32), "1,234,567");
        assert_eq!(thousands(12u32), "12");
        assert_eq!(count(1u32, "row"), "1 row");
        assert_eq!(number(78.940841), "78.9408");
        assert_eq!(number(0.5), "0.5");
        assert_eq!(number(1e9), "1000000000");
    }
}
