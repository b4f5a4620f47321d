//! What no state, size, key or text from outside may do to the screen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::stage::{BEGAN, Stage, lines, looking};
use jiff::SignedDuration;
use nameplate::app::keymap::{BINDINGS, Key};
use nameplate::model::{
    Absent, BoardId, Change, Config, Device, DeviceId, DeviceKind, DeviceProcess, Host, Metric,
    ProbeHint, ProbeReport, ProbeStatus, Process, Readings, Sample, SourceKind, Tick, Vendor,
};
use nameplate::simulate::cases;
use nameplate::text::Lang;
use nameplate::ui::Look;
use nameplate::ui::glyphs::Charset;
use nameplate::units::MonoTime;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use unicode_width::UnicodeWidthStr as _;

const REASONS: [Absent; 9] = [
    Absent::NotSupported,
    Absent::NoPermission,
    Absent::NoLibrary,
    Absent::Lost,
    Absent::TimedOut,
    Absent::Implausible(4_294_967_295.0),
    Absent::Stale,
    Absent::NotReported,
    Absent::Transition,
];

thread_local! {
    /// One stage for each case: sizes and keys are what is tried here, and history is dear.
    static STAGES: RefCell<BTreeMap<usize, Stage>> = const { RefCell::new(BTreeMap::new()) };
}

fn looks() -> [Look; 3] {
    [
        looking("dark", Charset::Unicode, Lang::En),
        looking("light", Charset::Unicode, Lang::ZhCn),
        looking("mono", Charset::Ascii, Lang::En),
    ]
}

fn key() -> impl Strategy<Value = Key> {
    let keys: Vec<Key> = BINDINGS.iter().flat_map(|b| b.keys).copied().collect();
    proptest::sample::select(keys)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_size_and_no_key_breaks_a_view(
        case in 0..7_usize,
        steps in proptest::collection::vec((1..300_u16, 1..100_u16, key(), any::<bool>()), 1..6),
        look in 0..3_usize,
    ) {
        STAGES.with_borrow_mut(|stages| {
            let stage = stages.entry(case).or_insert_with(|| match case {
                5 => Stage::many("narrow-link", 8),
                6 => Stage::live(&[everything_absent()]),
                case => Stage::of(cases()[case].name),
            });
            stage.look = looks()[look].clone();
            for (width, height, key, tick) in steps {
                stage.press(key);
                if tick && case != 6 {
                    stage.ticks(1);
                }
                let buffer = stage.draw(width, height);
                for cell in &buffer.content {
                    assert_clean(cell.symbol());
                }
            }
        });
    }
}

#[test]
fn the_smallest_sizes() {
    let mut stages = [
        Stage::of("narrow-link"),
        Stage::live(&[everything_absent()]),
        Stage::begun("hang", 1),
    ];
    for stage in &mut stages {
        for keys in [&[][..], &[Key::Enter], &[Key::Escape, Key::Char('?')]] {
            for key in keys {
                stage.press(*key);
            }
            for width in (1..40).chain([59, 60, 63, 64, 65, 71, 79, 99, 119, 120, 160, 300]) {
                for height in (1..14).chain([20, 23, 25, 100]) {
                    stage.draw(width, height);
                }
            }
        }
    }
}

/// Nothing is known of the device but that it is there.
fn everything_absent() -> Tick {
    let mut readings = Readings::default();
    for (n, metric) in Metric::ALL.iter().enumerate() {
        readings.set(*metric, Err(REASONS[n % REASONS.len()]));
    }
    let id = DeviceId(Arc::from("GPU-absent"));
    let device = Device {
        id: id.clone(),
        index: 7,
        vendor: Vendor::Nvidia,
        name: Arc::from("Unheard Of"),
        uuid: Err(Absent::NotSupported),
        pci_address: Err(Absent::NoPermission),
        pci_id: Err(Absent::NotReported),
        driver: Err(Absent::NotReported),
        board: BoardId(id.0.clone()),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: None,
        unified_memory: false,
        c2c: false,
        virtual_share: false,
        details: Vec::new(),
    };
    tick(
        vec![
            Change::Host(Host::default()),
            Change::Device(Arc::new(device)),
            Change::Processes(id.clone(), Err(Absent::NoPermission)),
        ],
        vec![(id, readings)],
    )
}

fn tick(changes: Vec<Change>, samples: Vec<(DeviceId, Readings)>) -> Tick {
    let mono = MonoTime(1_000_000_000_000_000);
    Tick {
        seq: 1,
        at: BEGAN + SignedDuration::from_secs(5),
        mono,
        interval: Duration::from_secs(1),
        dropped: 0,
        samples: samples
            .into_iter()
            .map(|(device, readings)| Sample {
                device,
                at: mono,
                readings,
            })
            .collect(),
        host: None,
        changes,
        events: Vec::new(),
    }
}

#[test]
fn an_absent_value_is_never_zero() {
    for (name, look) in ["en", "zh", "ascii"].into_iter().zip(looks()) {
        let mut stage = Stage::live(&[everything_absent()]).with(look);
        let overview = stage.text(200, 50);
        insta::assert_snapshot!(format!("absent_overview_{name}_200x50"), overview);
        let row = overview
            .lines()
            .filter(|l| l.contains("Unheard Of"))
            .nth(1)
            .unwrap();
        let (_, figures) = row.split_once("Unheard Of").unwrap();
        assert!(!figures.contains(|c: char| c.is_ascii_digit()), "{row}");
        assert!(figures.matches("--").count() >= 10, "{row}");
        stage.press(Key::Enter);
        let mut device = stage.draw(60, 300);
        device.set_string(0, 0, " ".repeat(60), ratatui::style::Style::default());
        let text = lines(&device);
        insta::assert_snapshot!(format!("absent_device_{name}"), stage.text(60, 110));
        // Phases are seconds that we watched ourselves: those are numbers.
        let phases = stage.look.text.overview_phase().into_owned();
        let title = text.iter().position(|l| l.trim() == phases).unwrap();
        let figures = text.iter().take(title).filter(|l| l.contains("--"));
        assert!(figures.clone().count() >= 40, "{}", text.join("\n"));
        for line in text.iter().take(title).skip(3) {
            let value = line.chars().skip(24).collect::<String>();
            let zero = value
                .split_whitespace()
                .any(|word| word == "0" || word == "0%");
            assert!(!zero, "{line}");
        }
    }
}

#[test]
fn text_from_outside_cannot_break_the_screen() {
    let foul = [
        "\u{1b}[31mred\u{1b}[0m\u{1b}]0;title\u{7}",
        "a\u{202e}drowssap\u{202c}b\u{2066}c\u{2069}",
        "显示卡显示卡显示卡显示卡显示卡显示卡显示卡",
        "👩‍👩‍👧‍👦 family 👍🏽 e\u{301}\u{301}\u{301}",
        "new\nline\ttab\r\u{9b}2Jz\u{0}\u{7f}",
        "\u{200b}\u{feff}\u{3164}",
        "",
    ];
    for foul in foul {
        let text: Arc<str> = Arc::from(foul);
        let id = DeviceId(Arc::from(format!("GPU-{foul}")));
        let device = Device {
            id: id.clone(),
            index: 0,
            name: text.clone(),
            uuid: Ok(text.clone()),
            driver: Ok(text.clone()),
            details: vec![(text.clone(), text.clone())],
            ..named()
        };
        let process = Process {
            pid: 42,
            name: Ok(text.clone()),
            command: Ok(text.clone()),
            user: Ok(text.clone()),
            ..process()
        };
        let owner = DeviceProcess {
            pid: 42,
            memory_bytes: Ok(1e9),
            utilization_ratio: Err(Absent::NotSupported),
            instance: None,
            graphics: false,
        };
        let probe = ProbeReport {
            vendor: Vendor::Nvidia,
            library: text.clone(),
            path: Some(text.clone()),
            version: Some(text.clone()),
            status: ProbeStatus::Crashed,
            code: None,
            message: Some(text.clone()),
            hint: ProbeHint::Unknown,
        };
        let host = Host {
            name: Ok(text.clone()),
            ..Host::default()
        };
        let around = vec![Change::Host(host), Change::Probe(probe)];
        let mut changes = around.clone();
        changes.extend([
            Change::Device(Arc::new(device)),
            Change::Processes(id.clone(), Ok(vec![owner])),
            Change::HostProcesses(vec![process]),
        ]);
        for ticks in [
            [tick(changes, vec![(id, Readings::default())])],
            [tick(around, Vec::new())],
        ] {
            for source in [
                SourceKind::Live,
                SourceKind::Recording(foul.to_owned()),
                SourceKind::Demo(foul.to_owned()),
            ] {
                let mut stage = Stage::empty(source, Config::default());
                ticks.iter().for_each(|t| stage.app.fold(t));
                stage.app.refresh();
                for look in looks() {
                    stage.look = look;
                    inspect(&mut stage);
                }
            }
        }
    }
}

/// Every view of the stage, at sizes that cut wide characters in two.
fn inspect(stage: &mut Stage) {
    let ascii = stage.look.charset.is_ascii();
    for key in [Key::Escape, Key::Enter] {
        stage.press(key);
        for (width, height) in [(80, 24), (120, 90), (31, 9), (30, 9), (13, 5), (200, 50)] {
            let buffer = stage.draw(width, height);
            for cell in &buffer.content {
                assert_clean(cell.symbol());
                assert!(!ascii || cell.symbol().is_ascii(), "{:?}", cell.symbol());
            }
            for line in lines(&buffer) {
                assert!(line.width() <= usize::from(width), "{line:?} in {width}");
                assert!(!line.contains("[31m") && !line.contains("2Jz"), "{line:?}");
            }
        }
    }
    stage.press(Key::Escape);
}

fn assert_clean(symbol: &str) {
    assert!(
        !symbol.is_empty() && (1..=2).contains(&symbol.width()),
        "{symbol:?}"
    );
    let same = symbol == &*nameplate::text::clean(symbol);
    assert!(same, "{symbol:?} could steer or deceive");
}

fn named() -> Device {
    let Change::Device(device) = &everything_absent().changes[1] else {
        panic!("the second is the device")
    };
    Device::clone(device)
}

fn process() -> Process {
    Process {
        pid: 0,
        foreign: false,
        name: Err(Absent::NotReported),
        command: Err(Absent::NotReported),
        user: Err(Absent::NotReported),
        state: Ok('S'),
        started: Ok(BEGAN),
        cpu_cores: Ok(0.5),
        read_bytes_per_s: Ok(0.0),
        write_bytes_per_s: Ok(0.0),
        major_faults_per_s: Ok(0.0),
        waiting_threads: Err(Absent::NotReported),
        wait_channel: Err(Absent::NotReported),
    }
}
