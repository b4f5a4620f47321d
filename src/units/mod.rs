//! Quantities with their unit in the type. A figure that leaves a module carries one of these or a
//! unit in its name; nothing is ever a bare "value".

mod link;
mod money;
mod quantity;
mod time;

pub use link::{LinkSpeed, raw_bytes_per_second, usable_bytes_per_second};
pub use money::{Currency, Money, split_by_largest_remainder};
pub use quantity::{Bytes, BytesPerSecond, Celsius, Hertz, Joules, Ratio, Watts};
pub use time::{MonoTime, format_span, parse_duration};
