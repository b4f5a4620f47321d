//! Links that are narrower, slower or fewer than they should be.

use super::kit::{Dice, Draft, Label, running, slowed, span_w};
use crate::model::Cause;
use crate::simulate::behaviour::{Activity, Stress};
use crate::simulate::part::{A100_PCIE, A100_SXM, H100, H200, L40S, Part, V100};
use crate::units::LinkSpeed;

/// What a link can be cut to: half or a quarter of the lanes, or a lower generation (rtx6kpro 88: generation 2 for 3.5 h
/// at 100 % utilization, nothing logged).
fn cut(dice: &mut Dice, part: &Part) -> LinkSpeed {
    let full = part.link;
    dice.pick(
        LinkSpeed { width: 8, ..full },
        &[
            LinkSpeed { width: 4, ..full },
            LinkSpeed {
                generation: full.generation.saturating_sub(2).max(1),
                ..full
            },
            LinkSpeed {
                generation: 2,
                ..full
            },
        ],
    )
}

/// Card C4: below its best on 3 polls that are 10 s apart, under load and in P0. Some links are cut from the first look
/// on and stay so; others retrain for a while, and what lasts less than 30 s is no fault. The severity is the time's.
pub(super) fn pcie_link(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_PCIE, &A100_SXM], &V100);
    let (severity, owned) = (dice.severity(20.0), dice.owned());
    let link = cut(dice, part);
    let work = dice.training(part);
    let begin = if severity > 8.0 {
        0.0
    } else {
        dice.between(660.0, 900.0).round()
    };
    let end = begin + 30.0 * severity;
    let at = move |t: f64| Activity {
        stress: Stress {
            link: (begin..end).contains(&t).then_some(link),
            ..Stress::default()
        },
        ..work
    };
    let label = Label::new(0, (begin, end), Cause::PcieLink, severity);
    Draft::new(end + 120.0, vec![running(part, 0, owned, at)], vec![label])
}

/// Card C4: a narrow link under a job that streams from the host: full link, 14 to 33 % of the span.
pub(super) fn pcie_link_starves(dice: &mut Dice) -> Draft {
    let part = dice.part(&H100, &[&A100_PCIE], &H200);
    let owned = dice.owned();
    let work = dice.training(part);
    let share = dice.between(0.08, 0.3);
    let streams = Activity {
        utilization: 0.99,
        sm_active: share * 0.7,
        tensor_active: share * 0.3,
        dram_active: share * 0.5,
        power_w: Some(span_w(part, share)),
        rx_bytes_per_s: 60e9,
        ..work
    };
    let mut device = running(part, 0, owned, move |_: f64| streams);
    device.condition.link = LinkSpeed {
        width: 8,
        ..part.link
    };
    let label = Label::new(0, (0.0, 420.0), Cause::PcieLink, 2.0).also(&[Cause::PcieSaturated]);
    Draft::new(420.0, vec![device], vec![label])
}

/// Card C15: fewer active links than there are, or errors of 100 a second (a growth of 1 is a warning); an all-reduce
/// falls to PCIe.
pub(super) fn nvlink_down(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100, &V100], &H200);
    let (begin, owned) = (dice.onset(), dice.owned());
    let work = dice.training(part);
    let down = dice.pick(1.0, &[2.0, 4.0, part.nvlinks]);
    let all = down >= part.nvlinks;
    let end = begin + 240.0;
    let at = move |t: f64| {
        if t < begin {
            return work;
        }
        let stress = Stress {
            links_down: down,
            ..Stress::default()
        };
        if all {
            Activity {
                nvlink_bytes_per_s: 0.0,
                rx_bytes_per_s: 9e9,
                tx_bytes_per_s: 9e9,
                stress,
                ..slowed(work, part, 0.6)
            }
        } else {
            Activity { stress, ..work }
        }
    };
    let mut label = Label::new(0, (begin, end), Cause::NvlinkDown, 1.0 + down);
    if all && begin == 0.0 {
        // A host without a bridge looks like that by design.
        label = label.also(&[Cause::None]);
    }
    Draft::new(end, vec![running(part, 0, owned, at)], vec![label])
}

/// Card C15: NVLink errors at a multiple of 100 a second with all links up.
pub(super) fn nvlink_errors(dice: &mut Dice) -> Draft {
    let part = dice.part(&A100_SXM, &[&H100], &H200);
    let (severity, begin, owned) = (dice.severity(8.0), dice.onset(), dice.owned());
    let work = dice.training(part);
    let end = begin + 240.0;
    let at = move |t: f64| Activity {
        stress: Stress {
            link_errors_per_s: if t >= begin { 100.0 * severity } else { 0.0 },
            ..Stress::default()
        },
        ..work
    };
    let label = Label::new(0, (begin, end), Cause::NvlinkDown, severity);
    Draft::new(end, vec![running(part, 0, owned, at)], vec![label])
}

/// Card C4's trap: a resting desktop card at generation 1 in P8, the link up and down between loads
/// (rtx6kpro 88: 1415 transitions over 35 resting cards in 2 minutes).
pub(super) fn resting_link(dice: &mut Dice) -> Draft {
    use crate::simulate::part::RTX_4090;
    let period = dice.between(20.0, 70.0);
    let work = dice.training(&RTX_4090);
    let at = move |t: f64| {
        let mut now = if super::kit::pulse(t, period, 0.5) {
            work
        } else {
            Activity::held(work.memory_gib)
        };
        if (t as u64).is_multiple_of(3) && now.power_w.is_none() {
            now.stress.link = Some(LinkSpeed {
                generation: 2,
                width: 8,
            });
        }
        now
    };
    let device = running(&RTX_4090, 0, dice.owned(), at);
    let label = Label::new(0, (0.0, 480.0), Cause::None, 1.0);
    Draft::new(480.0, vec![device], vec![label])
}

/// Facts 2a: data-centre cards on idle, and lanes given up in a low performance state: "may be reduced when not in use".
pub(super) fn resting_width(dice: &mut Dice) -> Draft {
    let part = dice.part(&L40S, &[&A100_PCIE], &V100);
    let owned = dice.owned();
    let work = dice.training(part);
    let at = move |t: f64| {
        if (120.0..480.0).contains(&t) {
            Activity {
                stress: Stress {
                    performance_state: 5.0,
                    link: Some(LinkSpeed {
                        generation: 1,
                        width: 4,
                    }),
                    ..Stress::default()
                },
                ..Activity::held(work.memory_gib)
            }
        } else {
            work
        }
    };
    let label = Label::new(0, (0.0, 600.0), Cause::None, 1.0);
    Draft::new(600.0, vec![running(part, 0, owned, at)], vec![label])
}
