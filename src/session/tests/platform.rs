//! What a platform says: price and begin of billing, events once each, and where it and the drivers differ.

use super::*;
use crate::units::Currency;
use rust_decimal::Decimal;

fn platform(cents: i64) -> Platform {
    Platform {
        name: "runpod".into(),
        title: "RunPod".into(),
        detected_by: DetectedBy::Environment,
        instance_id: Some("p1".into()),
        instance_type: Some("NVIDIA A40".into()),
        region: Some("EU-SE-1".into()),
        state: Some("RUNNING".into()),
        billed_by_state: Some(true),
        runs: Some(true),
        billing_started: Some(wall(0) - SignedDuration::from_secs(3600)),
        price: (cents > 0).then(|| PlatformPrice {
            per_hour: Decimal::new(cents, 2),
            currency: "EUR".parse().unwrap(),
            scope: PriceScope::Instance,
            at: wall(0),
        }),
        spot: None,
        rule: None,
        notices: Vec::new(),
        claims: Claims::default(),
        status: PlatformStatus::Fresh,
        answered: Some(wall(0)),
        is_asked: true,
        trouble: None,
    }
}

fn known(platform: Platform) -> Change {
    Change::Platform(PlatformNews::Known(Arc::new(platform)))
}

impl World {
    fn say(&mut self, platform: Platform) -> Snapshot {
        self.next.changes.push(known(platform));
        self.tick()
    }

    /// Answers as of now.
    fn at(&self) -> Timestamp {
        wall(i64::try_from(self.seconds).unwrap())
    }
}

#[test]
fn the_platforms_price_counts_where_the_user_gave_none() {
    let mut world = World::of([card(0)]);
    let cost = world.tick().cost.unwrap();
    assert_eq!(
        (cost.price_per_hour, cost.price_source),
        (None, PriceSource::None)
    );
    let cost = world.say(platform(239)).cost.unwrap();
    assert_eq!(cost.price_per_hour, Some(Decimal::new(239, 2)));
    assert_eq!(cost.price_source, PriceSource::Platform);
    assert_eq!(cost.currency.code(), "EUR");
    assert_eq!(cost.billing_start.source, BillingStartSource::Platform);
    assert!(cost.span_seconds >= 3600.0);
    // An answer without a price, of a stopped instance, takes none back.
    let cost = world.say(platform(0)).cost.unwrap();
    assert_eq!(cost.price_per_hour, Some(Decimal::new(239, 2)));
    world
        .next
        .changes
        .push(Change::Platform(PlatformNews::Unknown));
    let snapshot = world.tick();
    assert!(snapshot.platform.is_none());
    assert_eq!(snapshot.cost.unwrap().price_source, PriceSource::None);
}

#[test]
fn flag_and_file_go_before_the_platform() {
    for source in [PriceSource::Flag, PriceSource::Config] {
        let config = Config {
            price: Some(Price {
                per_hour: Decimal::ONE,
                scope: PriceScope::Instance,
                source,
            }),
            since: Some(BillingStart {
                at: wall(0) - SignedDuration::from_secs(60),
                source: BillingStartSource::Flag,
            }),
            ..Config::default()
        };
        let mut world = World::with(Start::new(config), [card(0)]);
        let cost = world.say(platform(239)).cost.unwrap();
        assert_eq!(
            (cost.price_per_hour, cost.price_source),
            (Some(Decimal::ONE), source)
        );
        assert_eq!(cost.currency, Currency::default());
        assert_eq!(cost.billing_start.source, BillingStartSource::Flag);
    }
}

#[test]
fn a_begin_of_billing_that_lies_ahead_is_none() {
    let mut world = World::of([card(0)]);
    let ahead = Platform {
        billing_started: Some(wall(86_400)),
        ..platform(239)
    };
    let cost = world.say(ahead).cost.unwrap();
    assert_ne!(cost.billing_start.source, BillingStartSource::Platform);
}

#[test]
fn failure_and_recovery_are_told_once_each_and_what_was_known_stays() {
    let mut world = World::of([card(0)]);
    world.say(platform(239));
    for _ in 0..3 {
        let snapshot = world.say(Platform {
            status: PlatformStatus::Refused,
            trouble: Some("403: the key may not read this".into()),
            ..platform(239)
        });
        assert_eq!(kinds(&snapshot), [EventKind::PlatformStale]);
        let view = snapshot.platform.unwrap();
        assert_eq!(view.status, PlatformStatus::Refused);
        assert_eq!(snapshot.cost.unwrap().price_source, PriceSource::Platform);
    }
    let now = world.at();
    let snapshot = world.say(Platform {
        answered: Some(now),
        ..platform(239)
    });
    assert_eq!(
        kinds(&snapshot),
        [EventKind::PlatformStale, EventKind::PlatformRecovered]
    );
}

#[test]
fn an_answer_that_nobody_renews_grows_stale() {
    let mut world = World::of([card(0)]);
    world.say(platform(239));
    let snapshot = world.after(299);
    assert_eq!(snapshot.platform.unwrap().status, PlatformStatus::Fresh);
    let snapshot = world.after(5);
    let view = snapshot.platform.clone().unwrap();
    assert_eq!(view.status, PlatformStatus::Stale);
    assert!(view.age_s.unwrap() > 300.0);
    assert_eq!(kinds(&snapshot), [EventKind::PlatformStale]);
    // What is known by its name alone does not age.
    let mut world = World::of([card(0)]);
    world.say(Platform {
        is_asked: false,
        answered: None,
        ..platform(0)
    });
    let view = world.after(1000).platform.unwrap();
    assert_eq!((view.status, view.age_s), (PlatformStatus::Fresh, None));
}

#[test]
fn a_notice_is_an_event_once_and_counts_down() {
    let mut world = World::of([card(0)]);
    let noticed = || Platform {
        notices: vec![Notice {
            id: "spot".into(),
            kind: NoticeKind::Preempt,
            at: Some(wall(130)),
            text: "terminate".into(),
        }],
        ..platform(239)
    };
    for _ in 0..4 {
        world.say(noticed());
    }
    let snapshot = world.tick();
    assert_eq!(kinds(&snapshot), [EventKind::Notice]);
    let event = &snapshot.events[0];
    assert!(event.text.contains("RunPod: terminate"), "{}", event.text);
    assert!(
        event
            .data
            .iter()
            .any(|(k, v)| &**k == "kind" && &**v == "preempt")
    );
    assert_eq!(snapshot.platform.unwrap().platform.notices.len(), 1);
}

#[test]
fn looking_is_known_and_ends() {
    let mut world = World::of([card(0)]);
    assert!(!world.session.is_looking_for_platform());
    world
        .next
        .changes
        .push(Change::Platform(PlatformNews::Looking));
    let snapshot = world.tick();
    assert!(world.session.is_looking_for_platform() && snapshot.platform.is_none());
    world.say(platform(239));
    assert!(!world.session.is_looking_for_platform());
}

fn disagreements(snapshot: &Snapshot) -> Vec<Disagreement> {
    let view = snapshot.platform.as_ref().unwrap();
    view.disagreements
        .iter()
        .map(|(_, what)| what.clone())
        .collect()
}

#[test]
fn another_card_than_was_rented_is_a_known_fact_of_the_device() {
    let mut world = World::of([named("NVIDIA A40")]);
    world
        .next
        .changes
        .push(Change::Probe(report(ProbeStatus::Ok)));
    let claims = Claims {
        device_count: Some(2),
        model: Some("NVIDIA A100-SXM4-80GB".into()),
        ..Claims::default()
    };
    let snapshot = world.say(Platform {
        claims,
        ..platform(239)
    });
    let count = Disagreement::Count {
        claimed: 2,
        seen: 1,
    };
    let model = Disagreement::Model {
        claimed: "NVIDIA A100-SXM4-80GB".into(),
        seen: "NVIDIA A40".into(),
    };
    assert_eq!(disagreements(&snapshot), [count.clone(), model.clone()]);
    assert!(
        [&count, &model]
            .iter()
            .all(|what| what.cause() == Cause::PlateMismatch)
    );
    let known: Vec<&KnownKind> = snapshot.devices[0].known.iter().map(|k| &k.kind).collect();
    assert!(known.contains(&&KnownKind::Disagrees(model)), "{known:?}");
    // Once it lasts it is a finding, with the platform's numbers as its thresholds.
    let mut view = snapshot.devices[0].clone();
    for _ in 0..200 {
        world.sample(&named("NVIDIA A40"), &[(Metric::Utilization, Ok(0.9))]);
        view = world.tick().devices.remove(0);
    }
    let verdict = &view.verdict;
    assert_eq!(
        (verdict.cause, verdict.confidence, verdict.counts),
        (Cause::PlateMismatch, Confidence::Sure, true)
    );
    let numbers = verdict.evidence.iter();
    let numbers: Vec<_> = numbers
        .map(|e| (e.witness, e.value, e.threshold, e.whose))
        .collect();
    let sold = Whose::Plate;
    assert_eq!(
        numbers,
        [
            (Witness::DeviceCount, 1.0, 2.0, sold),
            (Witness::ModelMatch, 0.0, 1.0, sold)
        ]
    );
    let claims = Claims {
        device_count: Some(1),
        model: Some("A40".into()),
        ..Claims::default()
    };
    let snapshot = world.say(Platform {
        claims,
        ..platform(239)
    });
    assert_eq!(disagreements(&snapshot), []);
}

#[test]
fn a_worse_link_or_limit_than_claimed_is_told_of_that_device() {
    let mut world = World::of([card(0), card(1)]);
    let claims = Claims {
        pcie_generation: Some(4),
        pcie_width: Some(16),
        power_limit_w: Some(300.0),
        ..Claims::default()
    };
    let of = |width: f64, limit: f64| {
        [
            (Metric::PcieGenerationBefore, Ok(1.0)),
            (Metric::PcieGenerationAfter, Ok(1.0)),
            (Metric::PcieWidthBefore, Ok(width)),
            (Metric::PcieWidthAfter, Ok(width)),
            (Metric::PcieGenerationMax, Ok(4.0)),
            (Metric::LimitEnforced, Ok(limit)),
        ]
    };
    world.sample(&card(0), &of(8.0, 300.0));
    world.sample(&card(1), &of(16.0, 250.0));
    let snapshot = world.say(Platform {
        claims,
        ..platform(239)
    });
    let view = snapshot.platform.unwrap();
    let id = |n: u32| Some(DeviceId(format!("GPU-{n}").into()));
    assert_eq!(
        view.disagreements,
        [
            (
                id(0),
                Disagreement::Width {
                    claimed: 16,
                    seen: 8
                }
            ),
            (
                id(1),
                Disagreement::PowerLimit {
                    claimed: 300.0,
                    seen: 250.0
                }
            ),
        ]
    );
}

/// The panel is held against the same seconds, and must be apart three times in a row.
#[test]
fn a_panel_that_says_something_else_for_long_is_told() {
    let mut world = World::of([card(0)]);
    let panel = |world: &World, ratio| Platform {
        claims: Claims {
            utilization_ratio: Some(ratio),
            at: Some(world.at()),
            ..Claims::default()
        },
        ..platform(239)
    };
    let minute = |world: &mut World, driver: f64, ratio: f64| {
        for _ in 0..30 {
            world.sample(&card(0), &[(Metric::Utilization, Ok(driver))]);
            world.tick();
        }
        let said = panel(world, ratio);
        disagreements(&world.say(said))
    };
    world.say(platform(239));
    for late in ["of another minute", "a mean that comes late"] {
        assert_eq!(minute(&mut world, 0.02, 0.97), [], "{late}");
    }
    let told = minute(&mut world, 0.02, 0.97);
    assert!(
        matches!(told[..], [Disagreement::Utilization { claimed, seen }] if claimed == 0.97 && (seen - 0.02).abs() < 0.01),
        "{told:?}"
    );
    assert_eq!(told[0].cause(), Cause::PanelDisagrees);
    world.sample(&card(0), &[(Metric::Utilization, Ok(0.02))]);
    let view = world.tick().devices.remove(0);
    let evidence = view.verdict.evidence.first().copied();
    assert_eq!(view.verdict.cause, Cause::PanelDisagrees);
    assert!(
        evidence.is_some_and(|e| e.witness == Witness::Utilization && e.threshold == 0.97),
        "{evidence:?}"
    );
    assert_eq!(minute(&mut world, 0.90, 0.97), [], "they agree again");
}

#[test]
fn a_session_taken_up_in_the_middle_knows_the_platform() {
    let mut world = World::of([card(0)]);
    world.say(platform(239));
    world.after(5);
    let start = world.session.start();
    let mut again = Session::new(start, plates(), SourceKind::Live);
    let (a, b) = (world.session.snapshot().unwrap(), again.snapshot().unwrap());
    assert_eq!(a.platform, b.platform);
    assert_eq!(a.cost, b.cost);
    assert_eq!(b.cost.unwrap().price_source, PriceSource::Platform);
    let mut tick = empty();
    tick.seq = 99;
    tick.at = wall(7);
    tick.mono = MonoTime(1007 * NS);
    again.fold(&tick);
    assert!(again.snapshot().unwrap().platform.is_some());
}
