//! How a platform is recognised, and what its keys may lie in.

use super::{Host, POD, view};
use crate::support::http::{Reply, Server};
use nameplate::model::{DetectedBy, PlatformStatus};

#[test]
fn a_platform_is_recognised_by_what_this_host_has() {
    let environ = |pairs: &[&str]| pairs.join("\0");
    for (what, host, expected) in [
        ("nothing", Host::new(), None),
        (
            "environment",
            Host::new().env("MODAL_TASK_ID", "t"),
            Some(("modal", DetectedBy::Environment)),
        ),
        (
            "one of several sets",
            Host::new().env("PAPERSPACE_FQDN", "x"),
            Some(("paperspace", DetectedBy::Environment)),
        ),
        ("half of a set", Host::new().env("CONTAINER_ID", "1"), None),
        (
            "the first process's environment",
            Host::new().file(
                "proc/1/environ",
                &environ(&["A=b", "CONTAINER_ID=1", "VAST_CONTAINERLABEL=C.1"]),
            ),
            Some(("vast", DetectedBy::Pid1Environment)),
        ),
        (
            "firmware",
            Host::new().file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            Some(("aws", DetectedBy::Dmi)),
        ),
        (
            "another firmware",
            Host::new().file("sys/class/dmi/id/sys_vendor", "Dell Inc.\n"),
            None,
        ),
        (
            "the other place of the firmware's strings",
            Host::new().file(
                "sys/devices/virtual/dmi/id/product_name",
                "Alibaba Cloud ECS\n",
            ),
            Some(("alibaba", DetectedBy::Dmi)),
        ),
        (
            "a container on another cloud's host",
            Host::new()
                .env("RUNPOD_POD_ID", "p")
                .file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            Some(("runpod", DetectedBy::Environment)),
        ),
        (
            "an empty variable",
            Host::new().env("RUNPOD_POD_ID", ""),
            None,
        ),
        (
            "what the user says",
            Host::new().env("RUNPOD_POD_ID", "p").named("kaggle"),
            Some(("kaggle", DetectedBy::Flag)),
        ),
    ] {
        let report = host.look();
        let expected = expected.map(|(name, by)| (name.to_owned(), by));
        assert_eq!(report.chosen, expected, "{what}");
        assert!(!report.asked_network, "{what}");
        if let Some((name, by)) = &report.chosen {
            let found = report.candidates.iter().find(|c| c.name == *name).unwrap();
            assert_eq!(found.detected, *by != DetectedBy::Flag, "{what}");
        }
    }
}

/// All metadata addresses at once; each platform knows its own answer from the others' at the same address.
#[test]
fn one_address_is_told_from_another() {
    let azure = r#"{"compute":{"vmId":"v-1","vmSize":"x","location":"y","name":"z"}}"#;
    for (name, routes) in [
        (
            "azure",
            vec![("GET /metadata/instance", Reply::json(azure))],
        ),
        (
            "gcp",
            vec![(
                "GET /computeMetadata/v1/instance/id",
                Reply::text("77").header("Metadata-Flavor", "Google"),
            )],
        ),
        (
            "aws",
            vec![
                ("PUT /latest/api/token", Reply::text("t")),
                ("GET /latest/meta-data/instance-id", Reply::text("i-1")),
            ],
        ),
        (
            "tencent",
            vec![("GET /latest/meta-data/instance-id", Reply::text("ins-1"))],
        ),
        (
            "huawei",
            vec![(
                "GET /openstack/latest/meta_data.json",
                Reply::json(r#"{"uuid":"u","meta":{"vpc_id":"v"}}"#),
            )],
        ),
    ] {
        let server = Server::start();
        for (route, reply) in routes {
            server.add(route, reply);
        }
        let report = Host::new().ask(&server);
        assert_eq!(report.chosen, Some((name.to_owned(), DetectedBy::Metadata)));
        assert!(report.asked_network);
    }
    // A cloud of the same form that is none of them.
    let server = Server::start().on(
        "GET /openstack/latest/meta_data.json",
        Reply::json(r#"{"uuid":"u"}"#),
    );
    assert_eq!(Host::new().ask(&server).chosen, None);
}

/// A new platform of the common shape needs a file and no code.
#[test]
fn a_users_own_descriptor_is_all_that_a_new_platform_needs() {
    let mut host = Host::new()
        .env("MYCLOUD_NODE", "n-5")
        .env("MYCLOUD_TOKEN", "my-test-key");
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
name = "mycloud"
title = "My Cloud"
source = "its own pages"
api = "https://api.mycloud.example"
instance = ["MYCLOUD_NODE"]
keys = [{ environment = "MYCLOUD_TOKEN" }]
price = { currency = "EUR", scope = "device" }
detect = { environment = [["MYCLOUD_NODE"]] }
states = { up = { runs = true, billed = true } }

[[request]]
place = "api"
path = "/nodes/{instance}"
headers = { X-Auth = "{key}" }
form = "json"
value = [
    { is = "state", at = ["/node/power"] },
    { is = "price", at = ["/node/rate"], scale = "cents" },
    { is = "region", at = ["/node/zone"] },
]
"#;
    std::fs::write(folder.path().join("mycloud.toml"), text).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "not TOML").unwrap();
    host.descriptors = Some(folder);
    let server = Server::start().demand("X-Auth", "my-test-key").on(
        "GET /nodes/n-5",
        Reply::json(r#"{"node":{"power":"UP","rate":250,"zone":"fra"}}"#),
    );
    let report = host.ask(&server);
    let view = view(&report);
    let price = view.platform.price.as_ref().unwrap();
    assert_eq!(
        (price.per_hour.to_string().as_str(), price.currency.code()),
        ("2.5", "EUR")
    );
    assert_eq!(
        (
            view.platform.billed_by_state,
            view.platform.region.as_deref()
        ),
        (Some(true), Some("fra"))
    );
    let candidate = &report.candidates[0];
    assert!(candidate.descriptor.ends_with("mycloud.toml") && candidate.detected);
}

#[test]
fn a_key_file_that_others_can_read_is_refused_with_the_command_to_type() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".runpod/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "apikey = \"rp-test-key\"\n").unwrap();
    let server = Server::start()
        .demand("Authorization", "Bearer rp-test-key")
        .on(
            POD,
            Reply::json(r#"{"id":"p1","status":"RUNNING","cost":0.5}"#),
        );
    let mut host = Host::new().env("RUNPOD_POD_ID", "p1");
    host.home.home = Some(home.path().to_owned());
    for (mode, taken) in [(0o644, false), (0o600, true)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let report = host.ask(&server);
        let view = view(&report);
        assert_eq!(view.status == PlatformStatus::Fresh, taken, "{mode:o}");
        if !taken {
            let trouble = view.platform.trouble.clone().unwrap();
            assert!(
                trouble.ends_with(&format!("next: chmod 600 {}", file.display())),
                "{trouble}"
            );
            assert_eq!(server.seen().len(), 0, "nothing is asked without a key");
        }
    }
    // The user's own file comes after the platform's.
    std::fs::remove_file(&file).unwrap();
    let own = home.path().join("key");
    std::fs::write(&own, "rp-test-key").unwrap();
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o600)).unwrap();
    host.key_file = Some(own);
    assert_eq!(view(&host.ask(&server)).status, PlatformStatus::Fresh);
}
