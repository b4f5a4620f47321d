//! Shares of a card, through the program: what divides it, what is the share's and what the whole card's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::contract::{Program, Schema};
use crate::stage::{Stage, looking};
use crate::support::nvml::FakeNvml;
use nameplate::app::keymap::Key;
use nameplate::model::{Change, Device, ShareKind};
use nameplate::text::Lang;
use nameplate::ui::glyphs::Charset;
use serde_json::{Value as Json, json};
use std::process::Output;
use std::sync::Arc;
use tempfile::TempDir;

/// A container's root: what its first process was started with, and what every program loads.
fn container(environment: &[&str], preload: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("proc/1/environ", environment.join("\0")),
        ("etc/ld.so.preload", preload.to_owned()),
    ] {
        let file = root.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    root
}

const QUARTER: &str = "memory_total = 4026531840\nmemory_used = 1073741824\nmemory_reserved = 0\n";

fn t4(total: &str) -> FakeNvml {
    FakeNvml::over("t4-x8", &format!("[[device]]\n{total}"))
}

fn run(args: &[&str], root: &TempDir, fake: &FakeNvml) -> Output {
    let root = root.path().to_str().unwrap();
    let all = [args, &["--no-record", "--root", root]].concat();
    Program::new(&all).on(fake, 60.0).output()
}

fn json_of(output: &Output) -> Json {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn once_names_what_divides_the_card() {
    let cgpu = [
        "ALIYUN_COM_GPU_MEM_CONTAINER=4",
        "ALIYUN_COM_GPU_MEM_DEV=15",
    ];
    let hami = [
        "CUDA_DEVICE_MEMORY_LIMIT_0=3840m",
        "CUDA_DEVICE_SM_LIMIT=25",
    ];
    let library = "/usr/local/vgpu/libvgpu.so\n";
    for (environment, preload, kind, ratio) in [
        (&cgpu[..], "", json!("cgpu"), json!(0.2667)),
        (&hami[..], library, json!("hami"), json!(0.2517)),
        (&[], library, json!("hami"), Json::Null),
        (&[], "", Json::Null, Json::Null),
    ] {
        let root = container(environment, preload);
        let document = json_of(&run(&["once", "--format", "json"], &root, &t4(QUARTER)));
        assert_eq!(Schema::of("snapshot").check(&document), [""; 0]);
        let device = &document["devices"][0];
        assert_eq!(device["share_kind"], kind);
        let told = device["share_ratio"].as_f64();
        assert_eq!(
            told.map(|r| (r * 1e4).round() / 1e4),
            ratio.as_f64(),
            "{kind}"
        );
        assert_eq!(device["memory_total_bytes"], json!(4_026_531_840_u64));
        // Power and plate are the whole card's.
        assert_eq!(device["plate_power_w"], json!(70.0), "{kind}");
        assert_ne!(device["verdict"]["cause"], "plate_mismatch", "{kind}");
    }
}

/// A guest's vGPU is known by the driver: its nameplate is nobody's.
#[test]
fn a_vgpu_is_named_by_the_driver() {
    let root = container(&[], "");
    let fake = FakeNvml::named("unsupported");
    let document = json_of(&run(&["once", "--format", "json"], &root, &fake));
    assert_eq!(Schema::of("snapshot").check(&document), [""; 0]);
    let device = &document["devices"][0];
    assert_eq!(device["share_kind"], "vgpu");
    assert_eq!(device["plate_power_w"], Json::Null);
    assert_eq!(device["absent"].get("share_kind"), None);
}

#[test]
fn the_text_names_it_before_the_card() {
    let hami = container(&["CUDA_DEVICE_MEMORY_LIMIT=3840m"], "");
    let text = String::from_utf8(run(&["once"], &hami, &t4(QUARTER)).stdout).unwrap();
    assert!(text.contains("  0  HAMi Tesla T4 "), "{text}");
}

#[test]
fn the_programs_own_environment_tells_it_too() {
    let root = container(&[], "");
    let args = [
        "once",
        "--format",
        "json",
        "--no-record",
        "--root",
        root.path().to_str().unwrap(),
    ];
    let output = Program::new(&args)
        .on(&t4(QUARTER), 60.0)
        .env("CUDA_DEVICE_MEMORY_LIMIT", "3840m")
        .output();
    assert_eq!(json_of(&output)["devices"][0]["share_kind"], "hami");
}

#[test]
fn what_is_ours_of_a_shared_card_cannot_be_seen() {
    let root = container(
        &[
            "ALIYUN_COM_GPU_MEM_CONTAINER=4",
            "ALIYUN_COM_GPU_MEM_DEV=15",
        ],
        "",
    );
    let args = ["diagnose", "--for", "1s", "--format", "json"];
    let document = json_of(&run(&args, &root, &t4(QUARTER)));
    assert_eq!(Schema::of("diagnosis").check(&document), [""; 0]);
    let blind = document["cannot_see"].as_array().unwrap();
    let own = blind
        .iter()
        .find(|one| one["evidence"] == "own_work")
        .unwrap();
    assert_eq!(own["devices"], json!([document["devices"][0]["id"]]));
    assert_eq!(
        own["reason"],
        "a share of a card (cGPU): both are the whole card's"
    );
    let whole = container(&[], "");
    let document = json_of(&run(&args, &whole, &t4("")));
    let blind = document["cannot_see"].as_array().unwrap();
    assert!(blind.iter().all(|one| one["evidence"] != "own_work"));
}

/// Healthy devices of the demo, the first of them a share.
fn shared(lang: Lang) -> Stage {
    let mut stage = Stage::of("healthy").with(looking("dark", Charset::Unicode, lang));
    let device = stage.app.picture().unwrap().devices[0].device.clone();
    let details = [
        (ShareKind::DETAIL, "cgpu"),
        (ShareKind::MEMORY, "21474836480"),
        (ShareKind::RATIO, "0.25"),
    ];
    stage.tick_with(Change::Device(Arc::new(Device {
        virtual_share: true,
        details: details.map(|(n, v)| (n.into(), v.into())).to_vec(),
        ..Device::clone(&device)
    })));
    stage.ticks(2);
    stage
}

#[test]
fn every_view_says_whose_its_figures_are() {
    let mut stage = shared(Lang::En);
    let overview = stage.text(100, 28);
    assert!(overview.contains("cGPU"), "{overview}");
    assert!(overview.contains("of its memory are ours"), "{overview}");
    stage.press(Key::Enter);
    let device = stage.text(200, 60);
    for part in ["share by", "memory given", "of the whole card"] {
        assert!(device.contains(part), "{part}: {device}");
    }
    stage.press(Key::Escape);
    stage.press(Key::Char('$'));
    for (width, height) in [(80, 24), (100, 28), (200, 50)] {
        let meter = stage.text(width, height);
        assert!(meter.contains("shares of cards"), "{width}: {meter}");
    }
    stage.press(Key::Char('v'));
    let verdicts = stage.text(200, 50);
    assert!(
        verdicts.contains("which part of power and utilization is ours"),
        "{verdicts}"
    );
    let overview = shared(Lang::ZhCn).text(100, 28);
    assert!(overview.contains("整张卡"), "{overview}");
}
