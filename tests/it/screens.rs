//! Pictures of the running program: simulated ticks in, keys through the real keymap, frames at several sizes.
//!
//! `cargo insta review`, or `INSTA_UPDATE=always`, takes new pictures; look at each before it is committed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::stage::{BEGAN, Stage, lines, looking};
use jiff::SignedDuration;
use nameplate::app::keymap::Key;
use nameplate::app::{Effect, View};
use nameplate::model::{
    Absent, Change, Host, HostSample, ProbeHint, ProbeReport, ProbeStatus, PsiScope, Tick, Vendor,
};
use nameplate::simulate::cases;
use nameplate::text::Lang;
use nameplate::ui::glyphs::Charset;
use nameplate::ui::theme::Role;
use nameplate::units::MonoTime;
use ratatui::style::Color;
use std::sync::Arc;
use std::time::Duration;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 50)];

/// A picture at every size.
fn picture(name: &str, stage: &mut Stage) {
    for (width, height) in SIZES {
        let cut = stage.text(width, height).contains("##");
        assert!(
            !cut || stage.look.charset.is_ascii(),
            "{name}: a figure or title has no room in {width} columns"
        );
        insta::assert_snapshot!(
            format!("{name}_{width}x{height}"),
            stage.text(width, height)
        );
    }
}

#[test]
fn the_overview_of_every_case() {
    for case in cases() {
        picture(
            &format!("overview_{}", case.name),
            &mut Stage::of(case.name),
        );
    }
}

#[test]
fn everything_known_of_one_device() {
    let mut stage = Stage::of("narrow-link");
    stage.press(Key::Enter);
    assert_eq!(stage.app.view(), View::Device);
    picture("device", &mut stage);
    for _ in 0..40 {
        stage.press(Key::Down);
    }
    insta::assert_snapshot!("device_scrolled_80x24", stage.text(80, 24));
    stage.press(Key::Escape);
    assert_eq!(stage.app.view(), View::Overview);
}

#[test]
fn help_comes_from_the_keymap() {
    let mut stage = Stage::begun("narrow-link", 1);
    stage.ticks(3);
    stage.press(Key::Char('?'));
    assert_eq!(stage.app.view(), View::Help);
    picture("help", &mut stage);
    stage.press(Key::Char('G'));
    insta::assert_snapshot!("help_end_80x24", stage.text(80, 24));
    stage.press(Key::Char('?'));
    assert_eq!(stage.app.view(), View::Overview);
}

#[test]
fn a_paused_picture_stands_still() {
    let mut stage = Stage::of("narrow-link");
    stage.press(Key::Char(' '));
    let held = stage.text(120, 40);
    stage.ticks(20);
    assert_eq!(stage.text(120, 40), held);
    insta::assert_snapshot!("paused_120x40", held);
    stage.press(Key::Char(' '));
    assert_ne!(stage.text(120, 40), held);
}

#[test]
fn a_held_picture_keeps_its_selection() {
    let mut stage = Stage::begun("narrow-link", 1);
    stage.ticks(2);
    stage.press(Key::Char(' '));
    let held = stage.text(120, 40);
    assert_eq!(stage.app.selected_index(), Some(0));
    // Far enough for device 3 to become the worst.
    stage.catch_up();
    assert_eq!(stage.text(120, 40), held);
    stage.press(Key::Char(' '));
    assert_eq!(stage.app.selected_index(), Some(3));
}

#[test]
fn keys_ask_for_what_lies_outside() {
    let mut stage = Stage::of("narrow-link");
    assert_eq!(stage.press(Key::Char('q')), Some(Effect::Quit));
    assert_eq!(stage.press(Key::Ctrl('c')), Some(Effect::Quit));
    assert_eq!(
        stage.press(Key::Char('+')),
        Some(Effect::Interval(Duration::from_millis(500)))
    );
    assert_eq!(
        stage.press(Key::Char('-')),
        Some(Effect::Interval(Duration::from_secs(1)))
    );
    assert_eq!(
        stage.press(Key::Char('d')),
        None,
        "the demo is offered only where there is nothing"
    );
    let Some(Effect::Copy(support)) = stage.press(Key::Char('y')) else {
        panic!("nothing was copied")
    };
    insta::assert_snapshot!("support_lines", support);
    insta::assert_snapshot!("copied_80x24", stage.text(80, 24));
}

#[test]
fn the_selection_moves_and_stays() {
    let mut stage = Stage::of("narrow-link");
    let selected = |stage: &Stage| stage.app.selected_index().unwrap();
    assert_eq!(selected(&stage), 3, "the worst is selected at first");
    stage.press(Key::Down);
    assert_eq!(selected(&stage), 4);
    stage.ticks(3);
    assert_eq!(selected(&stage), 4, "who has moved is not moved");
    stage.press(Key::Char('g'));
    stage.press(Key::Up);
    assert_eq!(selected(&stage), 0);
    stage.press(Key::Char('G'));
    stage.press(Key::Char('j'));
    assert_eq!(selected(&stage), 7);
}

#[test]
fn eight_devices_fit_80x24() {
    for case in ["healthy", "narrow-link", "hang"] {
        let text = Stage::of(case).text(80, 24);
        assert_eq!(rows(&text), (0..8).collect::<Vec<_>>(), "{case}:\n{text}");
    }
}

#[test]
fn forty_devices_fit_200x50() {
    let text = Stage::many("narrow-link", 5).text(200, 50);
    assert_eq!(rows(&text), (0..40).collect::<Vec<_>>(), "{text}");
    insta::assert_snapshot!("forty_200x50", text);
}

#[test]
fn sixty_four_devices_scroll() {
    let mut stage = Stage::many("healthy", 8);
    stage.press(Key::Char('G'));
    let text = stage.text(80, 24);
    assert!(
        rows(&text).contains(&63) && !rows(&text).contains(&0),
        "{text}"
    );
    insta::assert_snapshot!("sixty_four_end_80x24", text);
    stage.press(Key::PageUp);
    stage.press(Key::PageUp);
    let text = stage.text(120, 40);
    assert!(rows(&text).contains(&43), "{text}");
    insta::assert_snapshot!("sixty_four_middle_120x40", text);
    stage.press(Key::Char('g'));
    assert!(rows(&stage.text(80, 24)).contains(&0));
}

/// The indices of the rows in the table.
fn rows(text: &str) -> Vec<u32> {
    text.lines()
        .skip_while(|line| !line.contains("of plate"))
        .skip(1)
        .take_while(|line| !line.starts_with("──"))
        .filter_map(|line| {
            line.trim_start_matches(['▌', ' '])
                .split(' ')
                .next()?
                .parse()
                .ok()
        })
        .collect()
}

#[test]
fn chinese() {
    let mut stage = Stage::of("narrow-link").with(looking("dark", Charset::Unicode, Lang::ZhCn));
    picture("zh_overview", &mut stage);
    stage.press(Key::Enter);
    insta::assert_snapshot!("zh_device_120x40", stage.text(120, 40));
    stage.press(Key::Char('?'));
    insta::assert_snapshot!("zh_help_120x40", stage.text(120, 40));
}

#[test]
fn ascii_without_colour() {
    for lang in [Lang::En, Lang::ZhCn] {
        for case in cases() {
            let mut stage = Stage::of(case.name).with(looking("mono", Charset::Ascii, lang));
            for key in [None, Some(Key::Enter), Some(Key::Char('?'))] {
                if let Some(key) = key {
                    stage.press(key);
                }
                for (width, height) in SIZES {
                    plain(&mut stage, width, height);
                }
            }
        }
    }
    let mut stage = Stage::of("narrow-link").with(looking("mono", Charset::Ascii, Lang::En));
    picture("ascii_overview", &mut stage);
    stage.press(Key::Enter);
    insta::assert_snapshot!("ascii_device_120x40", stage.text(120, 40));
}

fn plain(stage: &mut Stage, width: u16, height: u16) {
    let buffer = stage.draw(width, height);
    let text = lines(&buffer);
    for (place, cell) in buffer.content.iter().enumerate() {
        let line = &text[place / usize::from(width)];
        assert!(cell.symbol().is_ascii(), "{:?} in {line}", cell.symbol());
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{line}");
    }
}

#[test]
fn the_light_theme_says_the_same() {
    let mut dark = Stage::of("narrow-link");
    let mut light = Stage::of("narrow-link").with(looking("light", Charset::Unicode, Lang::En));
    assert_eq!(dark.text(120, 40), light.text(120, 40));
    assert_ne!(dark.draw(120, 40), light.draw(120, 40));
}

#[test]
fn colours_say_what_words_say() {
    let mut stage = Stage::of("narrow-link");
    let buffer = stage.draw(120, 40);
    let text = lines(&buffer);
    let row_of = |index: &str| {
        let y = text
            .iter()
            .position(|l| l.trim_start_matches(['▌', ' ']).starts_with(index))
            .unwrap();
        u16::try_from(y).unwrap()
    };
    // The last word of a row is its state.
    let state = |y: u16| {
        let x = (0..120)
            .rev()
            .find(|x| buffer[(*x, y)].symbol() != " ")
            .unwrap();
        buffer[(x, y)].fg
    };
    let colour = |role| stage.colour(role).unwrap();
    assert_eq!(state(row_of("3  H100")), colour(Role::Bad));
    assert_eq!(state(row_of("0  H100")), colour(Role::Ok));
    assert_eq!(state(row_of("5  H100")), colour(Role::Warn));
    assert_eq!(state(row_of("6  H100")), colour(Role::Held));
    let selected = stage.look.theme.style(Role::Select).bg.unwrap();
    assert_eq!(buffer[(60, row_of("3  H100"))].bg, selected);
    assert_ne!(buffer[(60, row_of("2  H100"))].bg, selected);
}

#[test]
fn before_the_first_tick() {
    let mut stage = Stage::begun("healthy", 1);
    insta::assert_snapshot!("starting_80x24", stage.text(80, 24));
    // Nothing is there to act on, and nothing breaks.
    for key in [
        Key::Enter,
        Key::Down,
        Key::End,
        Key::Char(' '),
        Key::Char('y'),
        Key::Char('?'),
    ] {
        stage.press(key);
        stage.text(80, 24);
    }
}

#[test]
fn no_accelerator_of_ascend_s() {
    for (status, hint, message) in [
        (
            ProbeStatus::NoLibrary,
            ProbeHint::LibraryPath,
            "libdrvdsmi_host.so: cannot open shared object file",
        ),
        (
            ProbeStatus::NoLibrary,
            ProbeHint::ContainerWithoutDevices,
            "no libdcmi.so in this container",
        ),
        (
            ProbeStatus::NoPermission,
            ProbeHint::HeldElsewhere,
            "initialising DCMI: the device is occupied (DCMI code -8020): NPU held by another container",
        ),
    ] {
        let mut tick = without_devices(status, hint, message);
        for change in &mut tick.changes {
            if let Change::Probe(report) = change {
                report.vendor = Vendor::Ascend;
                report.library = Arc::from("libdcmi.so");
            }
        }
        insta::assert_snapshot!(
            format!("nothing_ascend_{hint:?}_80x24"),
            Stage::live(&[tick]).text(80, 24)
        );
    }
}

#[test]
fn no_accelerator() {
    let reports = [
        (
            ProbeStatus::NoLibrary,
            ProbeHint::NoHardware,
            "no libnvidia-ml.so.1 in the loader's folders, and no such device on the PCI bus",
        ),
        (
            ProbeStatus::NoLibrary,
            ProbeHint::InstallDriver,
            "no libnvidia-ml.so.1 in the loader's folders",
        ),
        (
            ProbeStatus::NoLibrary,
            ProbeHint::ContainerWithoutDevices,
            "no libnvidia-ml.so.1 in this container",
        ),
        (
            ProbeStatus::NoDevice,
            ProbeHint::ContainerWithoutDevices,
            "the library works and lists no device",
        ),
        (
            ProbeStatus::Mismatch,
            ProbeHint::Restart,
            "the library is of 570.86.15, the kernel module of 565.57.01",
        ),
        (
            ProbeStatus::NoPermission,
            ProbeHint::Permission,
            "/dev/nvidiactl may not be opened",
        ),
        (
            ProbeStatus::Crashed,
            ProbeHint::RecreateContainer,
            "nvmlInit_v2: unknown error",
        ),
        (
            ProbeStatus::TimedOut,
            ProbeHint::Unknown,
            "nvmlInit_v2 has not returned for 10 s",
        ),
    ];
    for (status, hint, message) in reports {
        let mut stage = Stage::live(&[without_devices(status, hint, message)]);
        assert_eq!(stage.app.view(), View::Nothing);
        insta::assert_snapshot!(
            format!("nothing_{}_{hint:?}_80x24", status.word()),
            stage.text(80, 24)
        );
        assert_eq!(stage.press(Key::Char('d')), Some(Effect::Demo));
        assert_eq!(stage.press(Key::Char('r')), Some(Effect::Retry));
        assert_eq!(stage.press(Key::Char('q')), Some(Effect::Quit));
    }
    let (status, hint, message) = reports[1];
    let mut stage = Stage::live(&[without_devices(status, hint, message)]);
    picture("nothing", &mut stage);
    let mut stage = stage.with(looking("mono", Charset::Ascii, Lang::En));
    plain(&mut stage, 80, 24);
    let mut stage = stage.with(looking("dark", Charset::Unicode, Lang::ZhCn));
    insta::assert_snapshot!("zh_nothing_80x24", stage.text(80, 24));
}

/// A tick of a host without devices.
fn without_devices(status: ProbeStatus, hint: ProbeHint, message: &str) -> Tick {
    let host = HostSample {
        cpu_ratio: Ok(0.04),
        load1: Ok(0.31),
        memory_used_bytes: Ok(2.1e9),
        memory_limit_bytes: Ok(24e9),
        psi_scope: Ok(PsiScope::Host),
        psi_cpu_some_ratio: Ok(0.0),
        net_rx_bytes_per_s: Ok(41e3),
        net_tx_bytes_per_s: Ok(18e3),
        disk_read_bytes_per_s: Err(Absent::NoPermission),
        ..HostSample::default()
    };
    let at = BEGAN + SignedDuration::from_secs(5);
    Tick {
        seq: 1,
        at,
        mono: MonoTime(1_000_005_000_000_000),
        interval: Duration::from_secs(1),
        dropped: 0,
        samples: Vec::new(),
        host: Some(host),
        changes: vec![
            Change::Host(Host {
                name: Ok(Arc::from("gpu-7f3")),
                kernel: Err(Absent::NotReported),
                cores: Ok(16),
                boot: Ok(BEGAN - SignedDuration::from_hours(36)),
                container_started: Err(Absent::NotReported),
                in_pid_namespace: false,
            }),
            Change::Probe(ProbeReport {
                vendor: Vendor::Nvidia,
                library: Arc::from("libnvidia-ml.so.1"),
                path: None,
                version: None,
                status,
                code: None,
                message: Some(Arc::from(message)),
                hint,
            }),
        ],
        events: Vec::new(),
    }
}
