//! Where the price and the rule come from; one case for each rule that is built in.

use super::*;
use crate::model::{PhasePrice, Settlement};

/// Each rule on the same rental of 3 h 20 m 5.5 s that begins 17 minutes after the hour: billed seconds and amount at
/// 7.20 an hour (0.002 a second) are in the file, with the rule's name.
#[test]
fn every_rule_has_its_case() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Case {
        billed: f64,
        unbilled: f64,
        amount: Decimal,
        /// After 20.5 seconds.
        short: Decimal,
    }
    let text = include_str!("../../../tests/scenarios/billing_rules.toml");
    let mut cases: BTreeMap<String, Case> = toml::from_str(text).unwrap();
    let rules = BillingRules::embedded().unwrap();
    for rule in rules.iter() {
        let case = cases
            .remove(&*rule.id)
            .unwrap_or_else(|| panic!("{} has no case", rule.id));
        let cost = |seconds: f64| {
            let half = seconds / 2.0;
            let run = |word: &str| Run {
                seconds: half,
                every: half,
                jump: 0.0,
                gap: 0.0,
                restart: false,
                reboot: false,
                queued: false,
                traffic: None,
                boards: vec![word.to_owned()],
            };
            let scenario = Scenario {
                title: String::new(),
                config: Config_::default(),
                begin: "2027-01-10T08:17:00Z".parse().unwrap(),
                starts: Vec::new(),
                runs: vec![run("compute"), run("io")],
                expect: toml::from_str("span = 0").unwrap(),
            };
            let mut config = config_of(&Config_ {
                price: Some(Decimal::new(720, 2)),
                ..Config_::default()
            });
            config.terms.rule = Some(rule.id.clone());
            let (ledger, now) = play(&config, &scenario, None);
            ledger.cost(now).unwrap()
        };
        let long = cost(12_005.5);
        assert_eq!(long.tariff.rule, rule.id);
        near(&rule.id, "billed", long.billed_seconds, Some(case.billed));
        near(
            &rule.id,
            "unbilled",
            long.unbilled_seconds,
            Some(case.unbilled),
        );
        assert_eq!(long.amount, Some(case.amount), "{}", rule.id);
        assert_eq!(
            long.phase_amounts.unwrap().iter().sum::<Decimal>(),
            case.amount
        );
        assert_eq!(cost(20.5).amount, Some(case.short), "{}, short", rule.id);
    }
    assert!(cases.is_empty(), "no such rules: {:?}", cases.keys());
}

fn offer(price: Option<(&str, &str)>) -> Offer {
    Offer {
        platform: "lambda".into(),
        rule: None,
        price: price.map(|(per_hour, currency)| Priced {
            price: Price {
                per_hour: per_hour.parse().unwrap(),
                scope: PriceScope::Instance,
                source: PriceSource::Platform,
            },
            currency: currency.parse().unwrap(),
            at: Some("2027-01-10T08:00:00Z".parse().unwrap()),
        }),
        instance_type: Some("gpu_8x_h100_sxm5".into()),
        region: Some("us-west-1".into()),
        spot: false,
    }
}

fn priced(config: &Config, offered: Option<Offer>) -> Cost {
    let mut ledger = Ledger::new(config, None);
    ledger.offer(offered);
    let now = "2027-01-10T08:00:30Z".parse().unwrap();
    ledger.observe(&Step {
        at: now,
        mono: MonoTime(1),
        interval: Duration::from_secs(1),
        boards: &boards(&["idle".to_owned()]),
        queued: false,
        traffic_bytes_per_s: None,
    });
    ledger.cost(now).unwrap()
}

#[test]
fn flag_then_file_then_platform_then_catalogue_then_none() {
    let own = |source| Config {
        price: Some(Price {
            per_hour: Decimal::from(5),
            scope: PriceScope::Instance,
            source,
        }),
        budget: Some(Decimal::from(10)),
        ..Config::default()
    };
    for source in [PriceSource::Flag, PriceSource::Config] {
        let cost = priced(&own(source), Some(offer(Some(("23.92", "USD")))));
        assert_eq!((cost.price_source, cost.price_age_s), (source, None));
        assert_eq!(cost.price_per_hour, Some(Decimal::from(5)));
    }
    let none = Config {
        price: None,
        ..own(PriceSource::Flag)
    };
    let cost = priced(&none, Some(offer(Some(("23.92", "USD")))));
    assert_eq!(cost.price_source, PriceSource::Platform);
    assert_eq!((cost.price_age_s, cost.budget), (Some(30.0), none.budget));
    assert_eq!(&*cost.tariff.rule, "lambda_on_demand");
    // Never converted: a budget in another currency is silent.
    let yuan = priced(&none, Some(offer(Some(("88.00", "CNY")))));
    assert_eq!((yuan.currency.code(), yuan.budget), ("CNY", None));
    let listed = priced(&none, Some(offer(None)));
    assert_eq!(listed.price_source, PriceSource::Catalogue);
    // Spot has a price of its own: the platform's word counts, the list's does not.
    for (price, source) in [
        (None, PriceSource::None),
        (Some(("9.10", "USD")), PriceSource::Platform),
    ] {
        let spot = Offer {
            spot: true,
            ..offer(price)
        };
        assert_eq!(priced(&none, Some(spot)).price_source, source);
    }
    assert_eq!(listed.price_per_hour, Some("31.92".parse().unwrap()));
    for absurd in ["-1", "79228162514264337593543950335"] {
        let cost = priced(&none, Some(offer(Some((absurd, "USD")))));
        assert_eq!(cost.price_source, PriceSource::Catalogue, "{absurd}");
    }
    let unknown = Offer {
        instance_type: Some("gpu_9x".into()),
        ..offer(None)
    };
    let cost = priced(&none, Some(unknown));
    assert_eq!((cost.price_source, cost.amount), (PriceSource::None, None));
    assert_eq!(priced(&none, None).price_source, PriceSource::None);
}

#[test]
fn the_users_terms_stand_over_the_platforms_rule() {
    let mut config = Config {
        granularity: Some(Granularity::Hour),
        ..Config::default()
    };
    config.terms.phases[1] = Some(PhasePrice::FREE);
    let cost = priced(&config, Some(offer(None)));
    assert_eq!(
        (cost.tariff.quantum_s, cost.tariff.settlement),
        (3600, Settlement::End)
    );
    assert_eq!(cost.tariff.phase(Phase::IoWait), PhasePrice::FREE);
    config.terms.rule = Some("autodl".into());
    let named = priced(&config, Some(offer(None)));
    assert_eq!(&*named.tariff.rule, "autodl_family");
}

/// A user who changes the file changes the price of everything so far, and nothing that was seen.
#[test]
fn another_configuration_prices_the_same_seconds() {
    let mut ledger = Ledger::new(&Config::default(), None);
    for second in 0..=100 {
        ledger.observe(&Step {
            at: Timestamp::from_second(second).unwrap(),
            mono: MonoTime(second as u64 * 1_000_000_000),
            interval: Duration::from_secs(1),
            boards: &boards(&["compute".to_owned()]),
            queued: false,
            traffic_bytes_per_s: None,
        });
    }
    let now = Timestamp::from_second(100).unwrap();
    assert_eq!(ledger.cost(now).unwrap().amount, None);
    ledger.configure(&Config {
        price: Some(Price {
            per_hour: Decimal::from(36),
            scope: PriceScope::Instance,
            source: PriceSource::Config,
        }),
        ..Config::default()
    });
    assert_eq!(ledger.cost(now).unwrap().amount, Some(Decimal::new(100, 2)));
}
