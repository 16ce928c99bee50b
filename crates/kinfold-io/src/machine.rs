//! How much memory this machine has: the smaller of what is built in and what the control group allows (Linux).

use std::fs::read_to_string;

/// Bytes of memory that this process could use at most; `None` where nobody says.
pub fn machine_memory() -> Option<u64> {
    let built_in = read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let allowed = files.iter().filter_map(|file| read_to_string(file).ok()?.trim().parse::<u64>().ok());
    built_in.into_iter().chain(allowed).min()
}

/// The line `MemTotal:  16316412 kB`.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_and_nonsense_is_not() {
        assert_eq!(total_of("MemFree: 1 kB\nMemTotal:       16316412 kB\nBuffers: 3 kB"), Some(16_316_412 * 1024));
        assert_eq!(total_of("MemTotal: many kB"), None);
        assert_eq!(total_of(""), None);
    }
}
