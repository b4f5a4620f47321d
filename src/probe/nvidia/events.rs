//! What the driver reports by itself: XIDs and the like.

use super::Session;
use super::fault::{Fault, TIMEOUT};
use super::ffi::{EventSet, Getter, Label, RawEvent};
use super::unit::Unit;
use super::xid;
use crate::model::{DeviceId, Event, EventKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const SINGLE_BIT: u64 = 0x1;
const DOUBLE_BIT: u64 = 0x2;
const XID: u64 = 0x8;
const MIG_CHANGE: u64 = 0x100;
/// Changes of P-state, clock and power source, which come by the dozen and are sampled anyway.
const NOISE: u64 = 0x4 | 0x10 | 0x80;

/// A set with all devices that report anything; `None` where none does.
pub(super) fn register(session: &Session) -> Option<EventSet> {
    let library = session.units.first().map(|unit| &unit.library)?;
    let set = EventSet::create(library).ok()?;
    let mut registered = 0;
    for unit in session.units.iter().filter(|unit| unit.slice_of.is_none()) {
        let kinds = library.get(unit.handle, Getter::EventTypes).unwrap_or(0) & !NOISE;
        // A driver that refuses all of them together may still take the one that matters.
        let taken = kinds != 0
            && (set.register(unit.handle, kinds).is_ok()
                || set.register(unit.handle, kinds & XID).is_ok());
        registered += usize::from(taken);
    }
    (registered > 0).then_some(set)
}

/// Waits for the next event.
pub(super) fn wait(session: &Session, set: &EventSet, timeout: Duration) -> Vec<Event> {
    match set.wait(timeout) {
        Ok(raw) => vec![told(session, &raw)],
        Err(Fault::Code(TIMEOUT)) => Vec::new(),
        Err(_) => {
            // The library answers at once and will again: without a pause this would spin.
            std::thread::sleep(timeout);
            Vec::new()
        }
    }
}

/// The device of an event: by handle, else by asking the handle for its UUID.
fn unit_of<'a>(session: &'a Session, raw: &RawEvent) -> Option<&'a Arc<Unit>> {
    let by_handle = session.units.iter().find(|unit| unit.handle == raw.device);
    by_handle.or_else(|| {
        let library = &session.units.first()?.library;
        let uuid = library.label(raw.device, Label::Uuid).ok()?;
        session
            .units
            .iter()
            .find(|unit| unit.device.uuid.as_deref() == Ok(uuid.as_str()))
    })
}

fn told(session: &Session, raw: &RawEvent) -> Event {
    let unit = unit_of(session, raw);
    if raw.kind == MIG_CHANGE
        && let Some(unit) = unit
    {
        unit.outdated.store(true, Ordering::Relaxed);
    }
    let slice = unit.and_then(|unit| unit.slice(raw.gpu_instance, raw.compute_instance));
    let device: Option<DeviceId> = slice.or_else(|| unit.map(|unit| unit.device.id.clone()));
    let (kind, text, data) = words(raw.kind, raw.data);
    Event {
        at: jiff::Timestamp::now(),
        device,
        kind,
        text: Arc::from(text),
        data: data
            .into_iter()
            .map(|(name, value)| (Arc::from(name), Arc::from(value)))
            .collect(),
    }
}

/// Kind, line and data of an event.
fn words(kind: u64, data: u64) -> (EventKind, String, Vec<(&'static str, String)>) {
    if kind == XID {
        let text = match xid::meaning(data) {
            Some(meaning) => format!("XID {data}: {meaning}"),
            None => format!("XID {data}"),
        };
        return (EventKind::Xid, text, vec![("code", data.to_string())]);
    }
    let text = match kind {
        SINGLE_BIT => "single-bit ECC error",
        DOUBLE_BIT => "double-bit ECC error",
        MIG_CHANGE => "the MIG partitioning changed",
        0x200 => "storm of single-bit ECC errors",
        0x400 => "DRAM retirement",
        0x800 => "DRAM retirement failed",
        0x1000 | 0x2000 => "poisoned memory was found",
        0x4000 => "the device is unavailable",
        0x8000 => "the driver's recovery action changed",
        _ => "driver event",
    };
    let data = vec![("type", format!("{kind:#x}")), ("code", data.to_string())];
    (EventKind::Notice, text.to_owned(), data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_worded() {
        let (kind, text, data) = words(XID, 79);
        assert_eq!(kind, EventKind::Xid);
        assert!(text.starts_with("XID 79: the device has fallen off the bus"));
        assert_eq!(data, [("code", "79".to_owned())]);
        let (kind, text, _) = words(XID, 4711);
        assert_eq!((kind, text.as_str()), (EventKind::Xid, "XID 4711"));
        let (kind, text, data) = words(0x8000, 2);
        assert_eq!(kind, EventKind::Notice);
        assert_eq!(text, "the driver's recovery action changed");
        assert_eq!(data[0], ("type", "0x8000".to_owned()));
    }
}
