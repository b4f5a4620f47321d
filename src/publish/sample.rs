//! A snapshot for tests: one device with nearly every figure, one that has fallen silent.
#![allow(clippy::unwrap_used)]

use super::Words;
use crate::model::*;
use crate::units::{Currency, MonoTime};
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::sync::Arc;
use std::time::Duration;

/// 2026-03-01T12:04:33Z plus milliseconds.
pub(crate) fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(1_772_366_673_000 + milliseconds).unwrap()
}

fn device(index: u32) -> Device {
    Device {
        id: DeviceId(format!("GPU-0000000{index}").into()),
        index,
        vendor: Vendor::Nvidia,
        name: "NVIDIA H100 80GB HBM3".into(),
        uuid: Ok(format!("GPU-0000000{index}").into()),
        pci_address: "0000:19:00.0".parse().map_err(|_| Absent::NotReported),
        pci_id: Ok((0x10de, 0x2330)),
        driver: Ok("570.86.15".into()),
        board: BoardId(format!("board-{index}").into()),
        parent: None,
        kind: DeviceKind::Device,
        power_usage_is_average: Some(true),
        unified_memory: false,
        c2c: false,
        virtual_share: false,
        details: Vec::new(),
    }
}

fn process() -> ProcessView {
    ProcessView {
        device: DeviceProcess {
            pid: 4242,
            memory_bytes: Ok(65_498_251_264.0),
            utilization_ratio: Err(Absent::NotSupported),
            instance: None,
            graphics: false,
        },
        host: Some(Process {
            pid: 4242,
            foreign: false,
            name: Ok("py\u{1b}[31mthon".into()),
            command: Ok("python train.py\u{202e}".into()),
            user: Ok("ana".into()),
            state: Ok('R'),
            started: Ok(at(-60_000)),
            cpu_cores: Ok(1.5),
            read_bytes_per_s: Ok(0.0),
            write_bytes_per_s: Err(Absent::NoPermission),
            major_faults_per_s: Ok(0.0),
            waiting_threads: Err(Absent::NotReported),
            wait_channel: Err(Absent::NotReported),
        }),
    }
}

/// A device whose every figure is absent for one reason.
pub(crate) fn device_view(index: u32, why: Absent) -> DeviceView {
    let mut figures = Figures::default();
    for figure in Figure::ALL {
        figures.set(*figure, Value::absent(why));
    }
    DeviceView {
        device: Arc::new(device(index)),
        readings: Readings::absent(why),
        figures,
        age_s: None,
        silent: None,
        power_kind: "unknown",
        power_scope: "gpu",
        plate_power_source: None,
        plate_unverified: false,
        rated_power_source: None,
        temperature_sensor: None,
        headroom_source: None,
        work_ratio_source: None,
        throttle: Err(why),
        throttle_seconds: Vec::new(),
        pcie_method: None,
        path: PathView::default(),
        mig: None,
        xid: None,
        processes: Err(why),
        processes_age_s: 0.0,
        phase: Phase::Unobserved,
        phase_seconds: PhaseSeconds::default(),
        utilization_seconds: 0.0,
        work_seconds: None,
        verdict: Verdict::unknown(),
        episodes: Vec::new(),
        word: StateWord::Unknown,
        known: vec![Known {
            level: Level::Info,
            kind: KnownKind::Nothing,
        }],
    }
}

fn busy_device() -> DeviceView {
    let mut view = device_view(0, Absent::NotSupported);
    for (figure, value) in [
        (Figure::Power, 612.123),
        (Figure::PowerLimit, 700.0),
        (Figure::PlatePower, 700.0),
        (Figure::PowerRatio, 612.123 / 700.0),
        (Figure::Temperature, 59.0),
        (Figure::Headroom, 28.0),
        (Figure::Utilization, 0.98),
        (Figure::Work, 0.1 + 0.2),
        (Figure::MemoryUsed, 65_498_251_264.0),
        (Figure::MemoryTotal, 85_520_809_984.0),
        (Figure::PcieGeneration, 5.0),
        (Figure::PcieWidth, 16.0),
        (Figure::PcieRx, 1_665_000_000.4),
        (Figure::PcieRxSaturation, 0.03),
        (Figure::PcieReplays, 3.0),
        (Figure::NvlinkLinks, 18.0),
        (Figure::NvlinkUp, 18.0),
    ] {
        view.figures.set(figure, Value::fresh(value));
    }
    view.figures.set(
        Figure::MemoryTemperature,
        Value {
            reading: Ok(71.0),
            age_s: 12.0,
        },
    );
    view.figures
        .set(Figure::Energy, Value::absent(Absent::Implausible(1.8e19)));
    view.plate_power_source = Some("driver_default");
    view.headroom_source = Some("margin");
    view.throttle = Ok(vec!["sw_power_cap".to_owned(), "bit_0x200".to_owned()]);
    view.throttle_seconds = vec![("sw_power_cap", 12.5)];
    view.pcie_method = Some("counter");
    view.path.hops = vec![Hop {
        address: "0000:17:00.0".parse().unwrap(),
        generation: Some(5),
        width: Some(16),
        generation_max: None,
        width_max: Some(16),
        emulated: false,
    }];
    view.mig = Some((false, Vec::new()));
    view.xid = Some((31, at(-5000)));
    view.processes = Ok(vec![process()]);
    view.processes_age_s = 4.2;
    view.phase = Phase::Compute;
    view.phase_seconds = PhaseSeconds {
        compute: 100.0,
        io_wait: Some(1.0),
        queue: 5.0,
        idle: 2.0,
        unobserved: 0.5,
    };
    view.word = StateWord::Working;
    view.verdict.state = VerdictState::Working;
    view.verdict.cause = Cause::None;
    view.verdict.since = Some(at(-100_000));
    view.verdict.evidence = vec![Evidence {
        witness: Witness::PowerOfPlate,
        value: 0.87,
        comparison: Comparison::AtLeast,
        threshold: 0.5,
        whose: Whose::Plate,
        window_s: 10.0,
    }];
    view
}

/// The article's meter: 8260 s at 12.80 an hour by started hours.
pub(crate) fn cost() -> Cost {
    Cost {
        currency: Currency::default(),
        price_per_hour: Some(Decimal::new(1280, 2)),
        price_scope: PriceScope::Instance,
        price_source: PriceSource::Flag,
        price_at: None,
        price_age_s: None,
        tariff: Arc::new(Tariff::started(Granularity::Hour)),
        billing_start: BillingStart {
            at: at(-8_260_000),
            source: BillingStartSource::Boot,
        },
        span_seconds: 8260.0,
        unbilled_seconds: 0.0,
        billed_seconds: 10_800.0,
        rounding_seconds: 2540.0,
        amount: Some(Decimal::new(3840, 2)),
        phase_seconds: PhaseSeconds {
            compute: 6138.0,
            io_wait: Some(2122.0),
            ..PhaseSeconds::default()
        },
        phase_amounts: Some([
            Decimal::new(21_824, 3),
            Decimal::new(7_544_888, 6),
            Decimal::ZERO,
            Decimal::ZERO,
            Decimal::ZERO,
            Decimal::new(9_031_112, 6),
        ]),
        phase_prices: Some([Decimal::new(1280, 2); 5]),
        any_compute_seconds: 6138.0,
        idle_held_seconds: 0.0,
        utilization_seconds: 5900.0,
        work_seconds: None,
        of_which: OfWhich::default(),
        available_ratio: None,
        effective_price_per_compute_hour: None,
        projected_day_amount: None,
        projected_month_amount: None,
        wasted_day_amount: None,
        next_edge: Some(at(2_540_000)),
        extras: Vec::new(),
        total_amount: Some(Decimal::new(3840, 2)),
        budget: None,
        budget_reached: None,
        flapping: Vec::new(),
        hours: Arc::default(),
        this_hour: None,
    }
}

/// Live, with a working device and a silent one.
fn platform_view() -> PlatformView {
    let notice = Notice {
        id: "n-1".into(),
        kind: NoticeKind::Preempt,
        at: Some(at(120_000)),
        text: "terminate\u{1b}[2J".into(),
    };
    let platform = Platform {
        name: "aws".into(),
        title: "AWS".into(),
        detected_by: DetectedBy::Dmi,
        instance_id: Some("i-1".into()),
        instance_type: Some("p5.48xlarge".into()),
        region: Some("us-east-2".into()),
        state: None,
        billed_by_state: None,
        runs: None,
        billing_started: None,
        price: None,
        spot: None,
        rule: None,
        notices: vec![notice],
        claims: Claims {
            device_count: Some(8),
            model: Some("H100-80GB".into()),
            ..Claims::default()
        },
        status: PlatformStatus::Stale,
        answered: Some(at(-14_000)),
        is_asked: true,
        trouble: Some("GET /latest/meta-data/instance-id: no answer within 1.0 s".into()),
    };
    PlatformView {
        status: platform.status,
        age_s: Some(14.0),
        disagreements: Vec::new(),
        still_bills: false,
        platform: Arc::new(platform),
    }
}

pub(crate) fn platform_report() -> PlatformReport {
    let step = |kind, result| Step {
        kind,
        what: "GET /latest/meta-data/instance-id".to_owned(),
        result,
        http_status: Some(200),
        ms: Some(1.25),
        text: None,
    };
    PlatformReport {
        asked_network: true,
        chosen: Some(("aws".to_owned(), DetectedBy::Dmi)),
        platform: Some(platform_view()),
        candidates: vec![Candidate {
            name: "aws".to_owned(),
            title: "AWS".to_owned(),
            descriptor: "built-in".to_owned(),
            source: "a test".to_owned(),
            detected: true,
            steps: vec![
                step(StepKind::Dmi, StepResult::Match),
                step(StepKind::Metadata, StepResult::TimedOut),
            ],
            gives: vec![Gives::InstanceId, Gives::Notices],
            adapter: None,
            needs: vec![Need {
                key: "KEY".to_owned(),
                found: false,
                place: None,
            }],
        }],
    }
}

pub(crate) fn snapshot() -> Snapshot {
    let mut silent = device_view(1, Absent::TimedOut);
    silent.silent = Some((Absent::TimedOut, MonoTime(70_000_000_000)));
    silent.word = StateWord::Silent;
    let host_sample = HostSample {
        cpu_ratio: Ok(0.34),
        load1: Ok(3.2),
        memory_used_bytes: Ok(61.0e9),
        memory_limit_bytes: Ok(503.0e9),
        tcp_segments: Ok(1000.0),
        psi_scope: Ok(PsiScope::Cgroup),
        ..HostSample::default()
    };
    Snapshot {
        seq: 2,
        at: at(120),
        mono: MonoTime(100_000_000_000),
        interval: Duration::from_secs(1),
        dropped: 0,
        source: SourceKind::Live,
        probes: vec![no_library()],
        host: Host {
            name: Ok("gpu-7f3".into()),
            ..Host::default()
        },
        host_sample,
        host_age_s: 0.0,
        platform: Some(platform_view()),
        startup: Startup {
            now: StartSteps {
                boot: Some(StartStep {
                    at: at(-9_000_000),
                    source: StepSource::Kernel,
                }),
                ..StartSteps::default()
            },
            earlier: Vec::new(),
        },
        boards: vec![BoardView {
            id: BoardId("board-0".into()),
            name: "NVIDIA H100 80GB HBM3".into(),
            devices: vec![DeviceId("GPU-00000000".into())],
            power_w: Value::fresh(612.123),
            power_limit_w: Value::fresh(700.0),
            plate_power_w: Value::absent(Absent::NotReported),
            phase_seconds: PhaseSeconds::default(),
        }],
        devices: vec![busy_device(), silent],
        past: Arc::default(),
        events: Arc::new(vec![event(1), event(2)]),
        cost: Some(cost()),
        energy: Some(Energy {
            kwh: 1.25,
            scope: "gpu",
            estimated: false,
        }),
        carbon: None,
    }
}

/// Nothing but a probe without its library.
pub(crate) fn empty_snapshot() -> Snapshot {
    Snapshot {
        devices: Vec::new(),
        boards: Vec::new(),
        events: Arc::default(),
        cost: None,
        energy: None,
        ..snapshot()
    }
}

pub(crate) fn event(n: i64) -> Event {
    Event {
        at: at(n),
        device: Some(DeviceId("GPU-00000000".into())),
        kind: EventKind::Xid,
        text: format!("XID {n}").into(),
        data: vec![("code".into(), n.to_string().into())],
    }
}

fn no_library() -> ProbeReport {
    ProbeReport {
        vendor: Vendor::Nvidia,
        library: "libnvidia-ml.so.1".into(),
        path: None,
        version: None,
        status: ProbeStatus::NoLibrary,
        code: None,
        message: Some("libnvidia-ml.so.1 could not be opened: no such file".into()),
        hint: ProbeHint::InstallDriver,
    }
}

/// Words that say little.
pub(crate) struct PlainWords;

impl Words for PlainWords {
    fn platform(&self, view: &PlatformView, _: jiff::Timestamp) -> Vec<String> {
        vec![view.platform.title.to_string()]
    }

    fn known(&self, device: &DeviceView) -> String {
        match device.word {
            StateWord::Silent => "A call has not answered since 30 s; the others go on.".to_owned(),
            _ => "The link runs x8 of x16 since boot (bridge 0000:17:00.0) and it has been at 12.6 of 13.0 GB/s for \
                  three minutes."
                .to_owned(),
        }
    }

    fn verdict(&self, device: &DeviceView) -> String {
        self.known(device)
    }

    fn episode(&self, episode: &Episode) -> String {
        format!("It was {}.", episode.cause.word())
    }

    fn episode_next(&self, _: &Episode, device: &DeviceView) -> Vec<(String, Option<String>)> {
        self.next(device)
    }

    fn evidence(&self, evidence: &Evidence) -> [String; 4] {
        [
            evidence.witness.metric().to_owned(),
            format!("{:.2}", evidence.value),
            format!("{} {:.2}", evidence.comparison.sign(), evidence.threshold),
            evidence.whose.to_string(),
        ]
    }

    fn cause(&self, cause: Cause) -> String {
        cause.word().to_owned()
    }

    fn confidence(&self, confidence: Confidence) -> String {
        confidence.word().to_owned()
    }

    fn cannot_see(&self, snapshot: &Snapshot) -> Vec<CannotSee> {
        vec![CannotSee {
            evidence: "sm_active_ratio",
            label: "SMs busy".to_owned(),
            devices: snapshot
                .devices
                .iter()
                .map(|v| v.device.id.clone())
                .collect(),
            reason: "this device has none".to_owned(),
            how: "take a newer one".to_owned(),
            columns: None,
        }]
    }

    fn rejected(&self, rejected: &Rejected) -> String {
        format!("not {}", rejected.cause.word())
    }

    fn next(&self, _: &DeviceView) -> Vec<(String, Option<String>)> {
        vec![
            (
                "look at the link".to_owned(),
                Some("lspci -vv -s 17:00.0".to_owned()),
            ),
            ("move".to_owned(), None),
        ]
    }

    fn probe_next(&self, _: &ProbeReport) -> Option<String> {
        Some("install the driver".to_owned())
    }

    fn probe_status(&self, _: &ProbeReport) -> String {
        "library not found".to_owned()
    }

    fn throttle(&self, name: &str) -> String {
        name.to_owned()
    }

    fn state(&self, word: StateWord) -> String {
        format!("{word:?}").to_lowercase()
    }
}
