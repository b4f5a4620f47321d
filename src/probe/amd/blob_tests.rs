use super::*;
use proptest::prelude::*;

/// A blob of all-ones with a header and these values.
fn blob(content: u8, size: usize, values: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0xFF; size];
    let header = [(size & 0xFF) as u8, (size >> 8) as u8, 1, content];
    for (at, value) in [(0, &header[..])].iter().chain(values) {
        bytes[*at..at + value.len()].copy_from_slice(value);
    }
    bytes
}

fn two(value: u16) -> [u8; 2] {
    value.to_le_bytes()
}

#[test]
fn each_revision_is_read_by_its_own_offsets() {
    for (content, size, power, energy, link, clocks, memory_clock) in [
        (1, 96, 22, 24, 74, 54, 58),
        (2, 104, 22, 24, 74, 54, 58),
        (3, 120, 22, 24, 74, 54, 58),
        (4, 288, 10, 24, 48, 240, 280),
        (5, 360, 10, 88, 112, 312, 352),
        (6, 1664, 10, 16, 60, 264, 304),
        (7, 2208, 10, 24, 68, 296, 336),
        (8, 3872, 10, 24, 68, 296, 336),
        (8, 3360, 10, 24, 68, 296, 336),
    ] {
        // The older ones have none: a place that is read of nobody else.
        let traffic = match content {
            4 => 72,
            5 => 136,
            6 => 88,
            7 | 8 => 96,
            _ => 32,
        };
        let bytes = blob(
            content,
            size,
            &[
                (6, &two(61)),
                (power, &two(512)),
                (energy, &7_000_000_u64.to_le_bytes()),
                (link, &two(16)),
                (link + 2, &two(320)),
                (traffic, &40_000_u64.to_le_bytes()),
                (clocks, &two(1912)),
                (memory_clock, &two(1300)),
            ],
        );
        let read = decode(&bytes).unwrap_or_default();
        assert_eq!(read.content, content);
        assert_eq!(read.power, Some(512.0), "1.{content}");
        assert_eq!(read.power_is_average, content < 4);
        assert_eq!(read.energy, Some(7e6), "1.{content}");
        assert_eq!(read.link, (Some(16), Some(320)), "1.{content}");
        let instinct = (content >= 4).then_some(40_000);
        assert_eq!(read.traffic, instinct, "1.{content}");
        assert_eq!(read.core_clock, Some(1912.0), "1.{content}");
        assert_eq!(read.memory_clock, Some(1300.0), "1.{content}");
        // Byte 6 is the hotspot of the older ones and the memory of the newer.
        let (hotspot, memory) = if content < 4 {
            (Some(61.0), None)
        } else {
            (None, Some(61.0))
        };
        assert_eq!(
            (read.hotspot, read.memory),
            (hotspot, memory),
            "1.{content}"
        );
        assert_eq!(
            (read.edge, read.activity, read.causes, read.residency),
            (None, None, None, None)
        );
    }
}

#[test]
fn other_revisions_are_refused() {
    for (format, content) in [
        (1, 0),
        (1, 9),
        (1, 10),
        (2, 0),
        (2, 1),
        (2, 4),
        (3, 0),
        (0, 3),
    ] {
        let mut bytes = blob(content, 264, &[]);
        bytes[2] = format;
        assert_eq!(decode(&bytes), Err(Refused::Revision(format, content)));
    }
}

#[test]
fn a_blob_that_is_not_whole_is_torn() {
    let whole = blob(3, 120, &[(6, &two(50))]);
    let mut padded = whole.clone();
    padded.resize(4096, 0);
    assert_eq!(decode(&padded), decode(&whole));
    assert_eq!(decode(&whole[..119]), Err(Refused::Torn));
    assert_eq!(decode(&whole[..3]), Err(Refused::Torn));
    assert_eq!(decode(&[]), Err(Refused::Torn));
    let mut other = whole;
    other[0] = 104;
    assert_eq!(decode(&other), Err(Refused::Torn));
}

#[test]
fn the_fastest_clock_counts_and_residencies_come_together() {
    let mut values: Vec<(usize, Vec<u8>)> = (0..8)
        .map(|n| (264 + 2 * n, two(if n == 5 { 2100 } else { 60 }).to_vec()))
        .collect();
    for (n, count) in [1000_u32, 1, 2, 3, 4, 5].into_iter().enumerate() {
        values.push((32 + 4 * n, count.to_le_bytes().to_vec()));
    }
    let values: Vec<(usize, &[u8])> = values.iter().map(|(at, v)| (*at, &v[..])).collect();
    let read = decode(&blob(6, 1664, &values)).unwrap_or_default();
    assert_eq!(read.core_clock, Some(2100.0));
    let residency = Residency {
        steps: 1000,
        causes: [1, 2, 3, 4, 5],
    };
    assert_eq!(read.residency, Some(residency));
    // One of them missing, none is known.
    let without: Vec<_> = values.into_iter().filter(|(at, _)| *at != 40).collect();
    assert_eq!(
        decode(&blob(6, 1664, &without))
            .unwrap_or_default()
            .residency,
        None
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn any_body_behind_a_good_header_is_read(body in proptest::collection::vec(any::<u8>(), 4096), row in 0..8_usize) {
        let layout = &LAYOUTS[row];
        let mut bytes = body;
        bytes[..4].copy_from_slice(&[(layout.size & 0xFF) as u8, (layout.size >> 8) as u8, 1, layout.content]);
        prop_assert!(decode(&bytes).is_ok());
    }
}
