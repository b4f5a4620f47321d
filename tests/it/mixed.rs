//! A node with devices of several vendors: what the screen and the documents make of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::contract::Schema;
use crate::stage::Stage;
use nameplate::app::keymap::Key;
use nameplate::cli::CatalogueWords;
use nameplate::publish::snapshot_json;
use nameplate::text::{Catalogue, Lang};
use serde_json::{Value as Json, json};

fn document(stage: &Stage) -> Json {
    let words = CatalogueWords::new(Catalogue::new(Lang::En), false);
    let snapshot = stage.app.picture().unwrap();
    let json = snapshot_json(snapshot, "once", &words);
    assert_eq!(Schema::of("snapshot").check(&json), [""; 0]);
    json
}

#[test]
fn each_device_tells_what_its_vendor_tells() {
    let document = document(&Stage::of("mixed"));
    let fields = [
        "vendor",
        "name",
        "board",
        "power_scope",
        "power_limit_w",
        "plate_power_w",
        "plate_power_source",
        "plate_power_verified",
        "rated_power_w",
        "slowdown_c",
        "headroom_source",
        "work_ratio_source",
        "nvlink",
    ];
    let devices = document["devices"].as_array().unwrap().iter();
    let devices: Vec<Json> = devices
        .map(|device| {
            let told = fields
                .iter()
                .map(|name| ((*name).to_owned(), device[name].clone()));
            let absent = device["absent"].as_object().unwrap().iter();
            let reasons =
                absent.filter(|(name, _)| fields.contains(&name.as_str()) || *name == "power_w");
            let reasons: Json = reasons
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect::<serde_json::Map<_, _>>()
                .into();
            let map: serde_json::Map<_, _> = told.chain([("absent".to_owned(), reasons)]).collect();
            map.into()
        })
        .collect();
    insta::assert_snapshot!(
        "mixed_devices",
        serde_json::to_string_pretty(&devices).unwrap()
    );
}

#[test]
fn a_board_counts_once_and_peers_are_of_one_kind() {
    let document = document(&Stage::of("mixed"));
    let boards = document["boards"].as_array().unwrap();
    let devices = document["devices"].as_array().unwrap();
    assert_eq!((boards.len(), devices.len()), (7, 9));
    for board in boards
        .iter()
        .filter(|b| b["devices"].as_array().unwrap().len() == 2)
    {
        let own = |device: &&Json| device["board"] == board["id"];
        for device in devices.iter().filter(own) {
            assert_eq!(device["power_w"], board["power_w"]);
            assert_eq!(device["power_scope"], "board");
            assert_eq!(board["plate_power_w"], device["plate_power_w"]);
        }
    }
    // Seven boards at 2.99: one price each.
    let price = &document["cost"]["price_per_hour"];
    assert_eq!(price, "20.93");
    // Threshold and headroom are the device's own, or absent: never another vendor's 83.
    for device in devices {
        let at = &device["slowdown_c"];
        let told = matches!(device["vendor"].as_str(), Some("nvidia" | "amd"));
        assert_eq!(
            at.is_number() && device["headroom_c"].is_number(),
            told && at.is_number()
        );
        if device["vendor"] != "nvidia" && device["vendor"] != "amd" {
            assert_eq!((at, &device["headroom_c"]), (&json!(null), &json!(null)));
        }
        // Devices that differ are nobody's stragglers.
        assert_eq!(device["verdict"]["cause"], "none", "{}", device["name"]);
    }
}

#[test]
fn a_device_without_power_is_shown_as_such() {
    let mut stage = Stage::of("mixed");
    for _ in 0..20 {
        if stage.app.selected_index() == Some(3) {
            break;
        }
        stage.press(Key::Down);
    }
    stage.press(Key::Enter);
    insta::assert_snapshot!("mixed_device_120x40", stage.text(120, 40));
    // The other half of a board says whose its power is as well.
    stage.press(Key::Escape);
    while stage.app.selected_index() != Some(5) {
        stage.press(Key::Down);
    }
    stage.press(Key::Enter);
    let text = stage.text(120, 40);
    assert!(text.contains("shared with device 4"), "{text}");
}

#[test]
fn the_table_is_sorted_and_filtered_by_keys() {
    let mut stage = Stage::of("mixed");
    // Listed, worst, vendor.
    stage.press(Key::Char('s'));
    stage.press(Key::Char('s'));
    for key in "/am".chars() {
        stage.press(Key::Char(key));
    }
    insta::assert_snapshot!("mixed_sorted_filtered_120x40", stage.text(120, 40));
    for key in "xyz".chars() {
        stage.press(Key::Char(key));
    }
    let text = stage.text(80, 24);
    assert!(text.contains("only \"amxyz\": 0 of 9"), "{text}");
}
