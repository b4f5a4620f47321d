//! What devices of one board have in common.
//!
//! NVIDIA's boards of several devices (A16) report each device's own draw. All other vendors' report the board's: both
//! halves of an MLU370-X8 the same figure (`BoardPower`, where its probe found them to agree), the even die of an MI250X or the first chip of a 910C alone, every partition of
//! an MI300X in CPX its package's. Such a figure counts once, and says nothing of one device's work.

use super::device::DeviceState;
use crate::model::{BoardId, DeviceKind, Metric, PlateEntry, Vendor};
use std::collections::BTreeSet;

/// Whose a device's power is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Share {
    /// Its own.
    #[default]
    Own,
    /// Its board's, of which no other device is seen here.
    Board,
    /// Its board's, which other devices draw as well.
    Shared,
}

/// Boards of vendors that report a board's power, with more than one device.
#[derive(Debug, Default)]
pub(super) struct Boards(BTreeSet<BoardId>);

impl Boards {
    pub(super) fn of(devices: &[DeviceState]) -> Self {
        let mut once: BTreeSet<&BoardId> = BTreeSet::new();
        let mut several = BTreeSet::new();
        for state in devices.iter().filter(|state| reports_board(state)) {
            if !once.insert(&state.device.board) {
                several.insert(state.device.board.clone());
            }
        }
        Self(several)
    }

    pub(super) fn share(&self, state: &DeviceState, entry: Option<&PlateEntry>) -> Share {
        match () {
            () if !reports_board(state) => Share::Own,
            () if self.0.contains(&state.device.board) => Share::Shared,
            () if entry.is_some_and(|entry| entry.devices_per_board > 1) => Share::Board,
            () => Share::Own,
        }
    }
}

fn reports_board(state: &DeviceState) -> bool {
    // Cambricon's probe compares the devices of a board, and says whose draw it is.
    let said = state.held.readings().get(Metric::BoardPower).is_ok();
    let vendor = state.device.vendor;
    state.device.kind == DeviceKind::Device
        && (said || !matches!(vendor, Vendor::Nvidia | Vendor::Cambricon))
}

/// Whether a model's row of the table is of a whole device: a partition of one shares a board that is no board of several.
pub(crate) fn is_whole(share: Share, entry: &PlateEntry) -> bool {
    share != Share::Shared || entry.devices_per_board > 1
}
