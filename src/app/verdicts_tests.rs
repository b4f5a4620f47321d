//! The words of verdicts.

#![allow(clippy::unwrap_used)]
use super::verdicts::{fact, next, of_device, sentence};
use super::words::Signs;
use crate::model::{
    Cause, Comparison, Confidence, Evidence, Rejected, Verdict, VerdictState, Whose, Why, Witness,
};
use crate::publish::sample;
use crate::text::{Catalogue, Lang};

fn number_of(witness: Witness, value: f64) -> Evidence {
    Evidence {
        witness,
        value,
        comparison: Comparison::Less,
        threshold: 2.0 * value,
        whose: Whose::Config,
        window_s: 10.0,
    }
}

#[test]
fn every_cause_has_a_sentence_with_its_numbers_in_every_language() {
    for lang in [Lang::En, Lang::ZhCn] {
        let t = Catalogue::new(lang);
        for cause in Cause::ALL.into_iter().filter(|c| *c != Cause::None) {
            let evidence = [number_of(Witness::PowerSpan, 0.03)];
            let state = cause.state();
            let said = sentence(cause, state, &evidence, &[], t, Signs::ASCII);
            assert!(said.contains("3 %") && said.contains("6 %"), "{said}");
            assert!(!super::verdicts::cause(cause, t).is_empty());
        }
        for witness in Witness::ALL {
            let said = fact(&number_of(*witness, 5.0), t, Signs::ASCII);
            assert!(said.contains(['5', '0']), "{witness:?}: {said}");
        }
    }
}

#[test]
fn what_counts_has_a_next_step() {
    let t = Catalogue::new(Lang::En);
    let view = sample::snapshot().devices.remove(0);
    for cause in Cause::ALL.into_iter().filter(|c| c.can_count()) {
        // What a platform's panel says and how it scales is the platform's to change.
        let elsewhere = matches!(cause, Cause::PanelDisagrees | Cause::Flapping);
        let steps = next(cause, &[number_of(Witness::Xid, 48.0)], &view, t);
        assert_eq!(steps.is_empty(), elsewhere, "{cause:?}");
    }
}

#[test]
fn a_suspicion_is_said_as_one_and_a_drift_without_witness_says_so() {
    let t = Catalogue::new(Lang::En);
    let mut view = sample::snapshot().devices.remove(0);
    view.verdict = Verdict {
        state: VerdictState::Throttled,
        cause: Cause::PowerDrift,
        confidence: Confidence::Suspect,
        evidence: vec![number_of(Witness::PowerOfReference, 0.91)],
        rejected: vec![Rejected {
            cause: Cause::WorkChanged,
            why: Why::CannotTell(Witness::ClockOfReference),
        }],
        ..Verdict::unknown()
    };
    let said = of_device(&view, t, Signs::ASCII);
    assert!(said.starts_with("Suspected: "), "{said}");
    assert!(said.contains("cannot be told from less work"), "{said}");
}

#[test]
fn what_was_not_read_is_not_said() {
    let t = Catalogue::new(Lang::En);
    let say = |cause: Cause, witness, blind: bool| {
        let rejected = [Rejected {
            cause: Cause::None,
            why: Why::CannotTell(Witness::LimitOfPlate),
        }];
        let rejected = if blind { &rejected[..] } else { &[] };
        sentence(
            cause,
            cause.state(),
            &[number_of(witness, 0.9)],
            rejected,
            t,
            Signs::ASCII,
        )
        .into_owned()
    };
    let hot = say(Cause::Thermal, Witness::Temperature, false);
    assert!(hot.starts_with("It is too hot: "), "{hot}");
    let cut = say(Cause::Thermal, Witness::HardwareHeatTime, false);
    assert!(cut.starts_with("Clocks are cut for heat: "), "{cut}");
    let full = say(Cause::PowerCap, Witness::PowerOfLimit, true);
    assert!(full.contains("cannot be told"), "{full}");
    let held = say(Cause::PowerCap, Witness::PowerCapTime, false);
    assert!(held.starts_with("Its clocks are held down"), "{held}");
}
