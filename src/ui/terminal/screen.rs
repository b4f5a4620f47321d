//! x
/// x
pub fn is_hangup(e: &std::io::Error) -> bool {
    e.raw_os_error() == Some(5)
}
