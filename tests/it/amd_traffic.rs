//! PCIe traffic of an MI300X: a sum in a unit that shows itself, on to the verdict.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::amd::{all, open};
use crate::ascend_states::ticks_of;
use crate::stage::Stage;
use crate::support::amd_machines::{folder, mi300x, mi300x_blob};
use crate::support::machine::Machine;
use nameplate::model::{Absent, Metric, Tick};

/// The blob with so much traffic in its own unit, at full use and these watts, over a link of x16; memory without errors.
fn moves(machine: &Machine, traffic: u64, watts: u16) {
    let mut blob = mi300x_blob(1000, 0);
    blob[88..96].copy_from_slice(&traffic.to_le_bytes());
    blob[10..12].copy_from_slice(&watts.to_le_bytes());
    blob[60..62].copy_from_slice(&16_u16.to_le_bytes());
    machine.put(&format!("{}/gpu_metrics", folder()), &blob);
    for block in ["umc", "gfx"] {
        machine.put(
            &format!("{}/ras/{block}_err_count", folder()),
            "ue: 0\nce: 0\n",
        );
    }
}

#[test]
fn the_sum_is_told_once_its_unit_has_shown_itself() {
    let machine = mi300x();
    let (amd, opened) = open(machine.root());
    let both = || all(&amd, &opened.devices[0]).get(Metric::PcieBothRate);
    moves(&machine, 40, 400);
    assert_eq!(both(), Err(Absent::NotReported), "40 Mb/s, or 40 GB/s");
    moves(&machine, 100_000, 400);
    assert_eq!(
        (both(), both()),
        (Err(Absent::NotReported), Err(Absent::NotReported))
    );
    assert_eq!(both(), Ok(12.5e9));
    moves(&machine, 40, 400);
    assert_eq!(both(), Ok(5e6));
}

/// A minute and a half of that, with the noise that a sensor has.
fn minutes(machine: &Machine) -> Vec<Tick> {
    let (amd, _) = open(machine.root());
    let mut ticks = ticks_of(&amd, 90);
    for (tick, noise) in ticks
        .iter_mut()
        .zip([0.0, 3.0, 1.0, 4.0, 2.0].iter().cycle())
    {
        for sample in &mut tick.samples {
            let watts = sample.readings.get(Metric::PowerInstant).unwrap();
            sample.readings.set(Metric::PowerInstant, Ok(watts + noise));
        }
    }
    ticks
}

#[test]
fn a_sum_that_fills_the_link_is_the_verdict() {
    let machine = mi300x();
    // x16 of generation 5 carries 55.5 GB/s each way: 100 of 111.
    moves(&machine, 800_000, 200);
    let mut stage = Stage::live(&minutes(&machine));
    let text = stage.text(160, 50);
    assert!(text.contains("Stalled: the PCIe link is full"), "{text}");
    assert!(text.contains("link use both ways 90 %"), "{text}");
    // Half of it may all go one way, or not: nothing is claimed.
    moves(&machine, 400_000, 200);
    let mut stage = Stage::live(&minutes(&machine));
    let text = stage.text(160, 50);
    assert!(!text.contains("PCIe link is full"), "{text}");
}
