//! Devices that share a board: its power, energy and money count once, and say nothing of one of them.

use super::*;
use crate::session::Tally;

/// A device of another vendor on a board.
fn of(vendor: Vendor, name: &str, index: u32, board: &str) -> Device {
    Device {
        vendor,
        name: name.into(),
        board: BoardId(board.into()),
        ..card(index)
    }
}

/// Seconds in which each device says its power, or why it has none.
fn folded(devices: &[Device], watts: &[Reading<f64>], seconds: u64) -> Session {
    let mut world = World::of(devices.iter().cloned());
    for _ in 0..seconds {
        for (device, watts) in devices.iter().zip(watts) {
            // Cambricon's probe says so where a board's devices agree.
            let power = match device.vendor {
                Vendor::Cambricon => Metric::BoardPower,
                _ => Metric::PowerUsage,
            };
            world.sample(
                device,
                &[
                    (power, *watts),
                    (Metric::LimitEnforced, Ok(250.0)),
                    (Metric::LimitDefault, watts.and(Ok(250.0))),
                    (Metric::Utilization, Ok(0.98)),
                ],
            );
        }
        world.tick();
    }
    world.session
}

#[test]
fn a_boards_figure_counts_once_whoever_tells_it() {
    let missing = Err(Absent::NotSupported);
    let table: &[(Vendor, &str, &[Reading<f64>], f64)] = &[
        (Vendor::Cambricon, "Pair", &[Ok(106.0), Ok(106.0)], 106.0),
        (Vendor::Amd, "Dies", &[Ok(420.0), missing], 420.0),
        (Vendor::Ascend, "Ascend910", &[missing, Ok(310.0)], 310.0),
        (
            Vendor::Amd,
            "Package",
            &[Ok(700.0), Ok(700.0), Ok(700.0)],
            700.0,
        ),
        // Each GPU of an A16 draws for itself.
        (Vendor::Nvidia, "Card", &[Ok(90.0), Ok(70.0)], 160.0),
    ];
    for (vendor, name, watts, wanted) in table {
        let devices: Vec<Device> = (0..watts.len())
            .map(|i| of(*vendor, name, i as u32, "board-1"))
            .collect();
        let session = folded(&devices, watts, 11);
        let snapshot = session.snapshot().unwrap();
        let [board] = &snapshot.boards[..] else {
            panic!("{name}: {:?}", snapshot.boards);
        };
        assert_eq!(board.power_w.ok(), Some(*wanted), "{name}");
        let energy = snapshot.energy.unwrap();
        let joules = energy.kwh * 3.6e6;
        assert!((joules - wanted * 10.0).abs() < 1e-6, "{name}: {joules}");
        let scope = if *vendor == Vendor::Nvidia {
            "gpu"
        } else {
            "board"
        };
        assert_eq!(energy.scope, scope, "{name}");
        for view in &snapshot.devices {
            assert_eq!(view.power_scope, scope, "{name}");
            // A board's draw is no device's work.
            let work = view.figures.get(Figure::Work).ok();
            assert_eq!(work.is_some(), scope == "gpu", "{name}");
        }
    }
}

#[test]
fn boards_share_the_price_whatever_is_on_them() {
    let devices = [
        of(Vendor::Cambricon, "Pair", 0, "one"),
        of(Vendor::Cambricon, "Pair", 1, "one"),
        of(Vendor::Amd, "Other", 2, "two"),
    ];
    let session = folded(&devices, &[Ok(106.0), Ok(106.0), Ok(500.0)], 601);
    let snapshot = session.snapshot().unwrap();
    assert_eq!(snapshot.boards.len(), 2);
    let cost = snapshot.cost.unwrap();
    assert!((cost.span_seconds - 600.0).abs() < 1e-6);
    let total = cost.phase_seconds.total();
    assert!((total - 600.0).abs() < 1e-6, "{total}");
}

#[test]
fn a_tally_counts_a_board_once() {
    let devices = [
        of(Vendor::Cambricon, "Pair", 0, "one"),
        of(Vendor::Cambricon, "Pair", 1, "one"),
    ];
    let session = folded(&devices, &[Ok(100.0), Ok(100.0)], 3);
    let mut tally = Tally::default();
    tally.take(&session, 1.0);
    let (each, whole) = tally.finish(&session);
    assert_eq!(each.len(), 2);
    assert_eq!(whole.compute_seconds, 2.0);
    assert_eq!(whole.power_ratio, Ok(0.4));
}

#[test]
fn only_equals_of_one_vendor_are_peers() {
    // Three of one name: the vendors tell them apart, so that nobody has a median of three.
    let devices = [
        of(Vendor::Nvidia, "Card", 0, "a"),
        of(Vendor::Amd, "Card", 1, "b"),
        of(Vendor::Ascend, "Card", 2, "c"),
    ];
    let session = folded(&devices, &[Ok(100.0); 3], 5);
    assert_eq!(session.judge.groups.len(), 3);
    assert!(
        session
            .judge
            .groups
            .iter()
            .all(|(_, peers)| peers.count == 1)
    );
}
