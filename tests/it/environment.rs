//! What stands around devices: floors that vendors state, and what Ascend jobs do, from files under a root to document and
//! screen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::ascend::{VERSIONS, a2};
use crate::ascend_states::ticks_of;
use crate::cambricon::once;
use crate::stage::{Stage, looking};
use crate::support::small::Fake;
use nameplate::app::keymap::Key;
use nameplate::model::Vendor as VendorName;
use nameplate::probe::WithEnvironment;
use nameplate::text::Lang;
use nameplate::ui::glyphs::Charset;
use serde_json::json;
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A machine with an image that is newer than its driver, and a job with forked workers.
fn machine() -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    let packages = "usr/local/python3.11/lib/python3.11/site-packages";
    for (path, text) in [
        (
            "proc/sys/kernel/osrelease",
            "5.10.0-60.18.0.50.oe2203.aarch64\n",
        ),
        ("etc/os-release", "PRETTY_NAME=\"openEuler 22.03 LTS\"\n"),
        (
            "usr/local/Ascend/driver/version.info",
            "Version=24.1.rc3\ncompatible_version_fw=[7.0.0,7.5.99]\n",
        ),
        (
            "usr/local/Ascend/firmware/version.info",
            "Version=7.7.0.1.231\n",
        ),
        ("usr/local/Ascend/cann/version.info", "Version=8.5.0\n"),
        (
            &format!("{packages}/torch_npu-2.9.0.dist-info/METADATA"),
            "",
        ),
        ("job/train.yaml", "enable_reduce_precision: True\n"),
    ] {
        write(root, path, text);
    }
    let flags = [
        (10, 1, 0x0040_0000),
        (11, 10, 0x0040_0040),
        (12, 10, 0x0040_0040),
    ];
    for (pid, parent, flags) in flags {
        let stat =
            format!("{pid} (python) S {parent} 1 1 0 -1 {flags} 0 0 0 0 5 6 0 0 20 0 1 0 9 9 9\n");
        write(root, &format!("proc/{pid}/stat"), &stat);
        write(
            root,
            &format!("proc/{pid}/cmdline"),
            "python\0train.py\0--config\0train.yaml\0",
        );
        write(root, &format!("proc/{pid}/fd/0"), "");
        symlink("/dev/davinci0", root.join(format!("proc/{pid}/fd/9"))).unwrap();
        symlink("/job", root.join(format!("proc/{pid}/cwd"))).unwrap();
    }
    tree
}

fn scenario() -> String {
    VERSIONS.replace("25.2.1", "24.1.rc3") + &a2(0, "") + &a2(1, "")
}

#[test]
fn the_document_holds_what_is_there_against_what_vendors_ask_for() {
    let tree = machine();
    let document = once("--dcmi-library", &Fake::dcmi(&scenario()), tree.path());
    let device = &document["devices"][0];
    let around = &device["environment"];
    for (name, value) in [
        ("kernel", json!("5.10.0-60.18.0.50.oe2203.aarch64")),
        ("distribution", json!("openEuler 22.03 LTS")),
        ("firmware", json!("7.7.0.1.231")),
        ("cann", json!("8.5.0")),
        ("torch_npu", json!("2.9.0")),
        ("mindspore", json!(null)),
        ("forked_workers", json!(2)),
        ("reduce_precision", json!(true)),
    ] {
        assert_eq!(around[name], value, "{name}");
    }
    assert_eq!(device["absent"]["environment.mindspore"], "not_reported");
    let floors: Vec<_> = around["floors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|floor| {
            let because = &floor["because"];
            json!([
                floor["fact"],
                floor["at_least"],
                floor["rule"],
                because["fact"],
                because["value"],
                floor["holds"]
            ])
        })
        .collect();
    assert_eq!(
        json!(floors),
        json!([
            ["driver", "25.0.RC1", "floor", "cann", "8.5.0", false],
            ["cann", "8.5.0", "paired", "torch_npu", "2.9.0", true],
            ["firmware", "7.0.0", "listed", "driver", "24.1.rc3", false],
        ])
    );
    assert!(
        around["floors"][0]["source"]
            .as_str()
            .unwrap()
            .contains("hiascend.com")
    );
    // Nobody has the other device open.
    let other = &document["devices"][1];
    assert_eq!(other["environment"]["forked_workers"], json!(null));
    assert_eq!(
        other["absent"]["environment.forked_workers"],
        "not_reported"
    );
}

#[test]
fn the_device_view_says_it_in_words() {
    let tree = machine();
    let fake = Fake::dcmi(&scenario());
    let probe = WithEnvironment::new(fake.probe_at(tree.path()), VendorName::Ascend, tree.path());
    let ticks = ticks_of(&probe, 3);
    for (lang, charset) in [
        (Lang::En, Charset::Unicode),
        (Lang::En, Charset::Ascii),
        (Lang::ZhCn, Charset::Unicode),
    ] {
        let mut stage = Stage::live(&ticks).with(looking("dark", charset, lang));
        stage.press(Key::Enter);
        let text = stage.text(90, 160);
        let title = match lang {
            Lang::En => "environment",
            Lang::ZhCn => "环境",
        };
        let section: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.contains(title))
            .take_while(|line| !line.trim().is_empty())
            .map(str::trim_end)
            .collect();
        let name = format!("environment_{lang:?}_{charset:?}");
        insta::assert_snapshot!(name, section.join("\n"));
    }
}
