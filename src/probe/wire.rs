//! What goes over the socket pair between the screen's process and a probe process: frames of a little-endian `u32`
//! length and a postcard body. Both ends are the same program, so there is no version to negotiate; a frame that does not
//! decode is an error of its own all the same, because a driver's library in the probe process may write anywhere.

use crate::model::{Change, Event, Sample};
use crate::units::MonoTime;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Duration;

/// Longest body of a frame: 64 devices with full process lists need far less than 1 MiB.
pub const FRAME_MAX: usize = 16 << 20;
/// So much room is made for a frame before any of it has come: that of some sixty devices.
const PORTION: usize = 64 << 10;

/// What the screen's process says first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Interval of the polls to come.
    pub interval: Duration,
    /// Where `/sys` is looked for.
    pub root: PathBuf,
}

/// What the screen's process asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Open the library.
    Hello(Hello),
    /// One round of readings, please.
    Poll {
        /// Comes back in the reply.
        seq: u64,
        /// Deadlines follow from it.
        interval: Duration,
    },
    /// End.
    Stop,
}

/// What a probe process answers to a poll.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reply {
    /// Of the poll.
    pub seq: u64,
    /// Since when the library is being opened, while it is not open yet.
    pub opening_since: Option<MonoTime>,
    /// The newest sample of each device that answered since the last reply.
    pub samples: Vec<Sample>,
    /// What changed since the last reply.
    pub changes: Vec<Change>,
    /// What happened since the last reply.
    pub events: Vec<Event>,
}

/// Why a frame could not be sent or read.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The other end is gone.
    #[error("the other end closed the connection")]
    Closed,
    /// The socket failed.
    #[error("reading or writing a frame: {0}")]
    Io(#[from] std::io::Error),
    /// A length beyond [`FRAME_MAX`].
    #[error("a frame of {0} bytes, more than the 16 MiB that are allowed")]
    TooLong(u64),
    /// The body is not what was expected.
    #[error("a frame that cannot be read: {0}")]
    Garbled(#[from] postcard::Error),
    /// The body is longer than its content.
    #[error("a frame with {0} bytes too many")]
    Trailing(usize),
}

/// Writes one frame in one write.
///
/// # Errors
/// The message is too long or the socket fails.
pub fn send<T: Serialize>(socket: &mut impl Write, message: &T) -> Result<(), WireError> {
    let mut frame = postcard::to_extend(message, vec![0_u8; 4])?;
    let length = frame.len() - 4;
    let prefix = u32::try_from(length)
        .ok()
        .filter(|_| length <= FRAME_MAX)
        .ok_or(WireError::TooLong(length as u64))?
        .to_le_bytes();
    if let Some(head) = frame.get_mut(..4) {
        head.copy_from_slice(&prefix);
    }
    socket.write_all(&frame)?;
    Ok(())
}

/// Reads one frame; `body` is scratch space that is kept between calls. Memory grows with what really arrives, never with
/// what the length claims.
///
/// # Errors
/// The other end is gone, the length is beyond the bound, or the body is not a `T`.
pub fn receive<T: DeserializeOwned>(
    socket: &mut impl Read,
    body: &mut Vec<u8>,
) -> Result<T, WireError> {
    let mut prefix = [0_u8; 4];
    socket.read_exact(&mut prefix).map_err(closed)?;
    let length = u32::from_le_bytes(prefix) as usize;
    if length > FRAME_MAX {
        return Err(WireError::TooLong(length as u64));
    }
    body.clear();
    // In one read: portions that double would be a dozen.
    body.reserve(length.min(PORTION));
    let read = socket
        .take(length as u64)
        .read_to_end(body)
        .map_err(closed)?;
    if read < length {
        return Err(WireError::Closed);
    }
    let (message, rest) = postcard::take_from_bytes(body)?;
    if !rest.is_empty() {
        return Err(WireError::Trailing(rest.len()));
    }
    Ok(message)
}

/// A peer that died in the middle of a frame is gone as well.
fn closed(error: std::io::Error) -> WireError {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof
        | std::io::ErrorKind::ConnectionReset
        | std::io::ErrorKind::BrokenPipe => WireError::Closed,
        _ => WireError::Io(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::model::{Absent, DeviceId, DeviceProcess, EventKind, Metric, Readings};
    use proptest::prelude::*;

    fn absents() -> impl Strategy<Value = Absent> {
        prop_oneof![
            Just(Absent::NotSupported),
            Just(Absent::Lost),
            Just(Absent::TimedOut),
            (-1e9..1e9_f64).prop_map(Absent::Implausible),
        ]
    }

    fn readings() -> impl Strategy<Value = Readings> {
        let slot = prop_oneof![(-1e12..1e12_f64).prop_map(Ok), absents().prop_map(Err)];
        prop::collection::vec((0..Metric::COUNT, slot), 0..24).prop_map(|slots| {
            let mut readings = Readings::default();
            for (slot, reading) in slots {
                readings.set(Metric::ALL[slot], reading);
            }
            readings
        })
    }

    fn ids() -> impl Strategy<Value = DeviceId> {
        "\\PC{0,12}".prop_map(|text| DeviceId(text.into()))
    }

    fn changes() -> impl Strategy<Value = Change> {
        prop_oneof![
            (ids(), absents(), any::<u64>()).prop_map(|(id, why, at)| Change::Silent(
                id,
                why,
                MonoTime(at)
            )),
            ids().prop_map(Change::Answers),
            ids().prop_map(Change::Gone),
            (ids(), any::<u32>(), any::<bool>()).prop_map(|(id, pid, graphics)| {
                Change::Processes(
                    id,
                    Ok(vec![DeviceProcess {
                        pid,
                        memory_bytes: Err(Absent::NotReported),
                        utilization_ratio: Ok(0.5),
                        instance: None,
                        graphics,
                    }]),
                )
            }),
        ]
    }

    prop_compose! {
        fn replies()(
            seq: u64,
            opening in prop::option::of(any::<u64>()),
            samples in prop::collection::vec((ids(), any::<u64>(), readings()), 0..5),
            changes in prop::collection::vec(changes(), 0..5),
            texts in prop::collection::vec("\\PC{0,40}", 0..3),
        ) -> Reply {
            Reply {
                seq,
                opening_since: opening.map(MonoTime),
                samples: samples
                    .into_iter()
                    .map(|(device, at, readings)| Sample { device, at: MonoTime(at), readings })
                    .collect(),
                changes,
                events: texts
                    .into_iter()
                    .map(|text| Event {
                        at: jiff::Timestamp::UNIX_EPOCH,
                        device: None,
                        kind: EventKind::Xid,
                        text: text.into(),
                        data: vec![("code".into(), "79".into())],
                    })
                    .collect(),
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_sent_is_received(replies in prop::collection::vec(replies(), 1..4)) {
            let mut bytes = Vec::new();
            for reply in &replies {
                send(&mut bytes, reply).unwrap();
            }
            let (mut socket, mut body) = (&bytes[..], Vec::new());
            for reply in &replies {
                prop_assert_eq!(&receive::<Reply>(&mut socket, &mut body).unwrap(), reply);
            }
            prop_assert!(matches!(receive::<Reply>(&mut socket, &mut body), Err(WireError::Closed)));
        }

        #[test]
        fn garbage_is_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut body = Vec::new();
            let _ = receive::<Reply>(&mut &bytes[..], &mut body);
            let mut framed = u32::try_from(bytes.len()).unwrap().to_le_bytes().to_vec();
            framed.extend_from_slice(&bytes);
            let _ = receive::<Reply>(&mut &framed[..], &mut body);
            let _ = receive::<Request>(&mut &framed[..], &mut body);
        }

        #[test]
        fn a_flipped_byte_is_no_panic(reply in replies(), at: prop::sample::Index, to: u8) {
            let mut bytes = Vec::new();
            send(&mut bytes, &reply).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = to;
            let _ = receive::<Reply>(&mut &bytes[..], &mut Vec::new());
        }

        #[test]
        fn a_claimed_length_allocates_little(length: u32, sent in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assume!(length as usize > sent.len());
            let mut bytes = length.to_le_bytes().to_vec();
            bytes.extend_from_slice(&sent);
            let mut body = Vec::new();
            let answer = receive::<Reply>(&mut &bytes[..], &mut body);
            if length as usize > FRAME_MAX {
                prop_assert!(matches!(answer, Err(WireError::TooLong(_))));
            } else {
                prop_assert!(matches!(answer, Err(WireError::Closed)));
            }
            prop_assert!(body.capacity() <= 2 * PORTION);
        }
    }

    #[test]
    fn more_than_the_bound_is_not_sent() {
        let mut sunk = Vec::new();
        let long = vec![7_u8; FRAME_MAX + 1];
        assert!(matches!(send(&mut sunk, &long), Err(WireError::TooLong(_))));
        assert!(sunk.is_empty());
    }
}
