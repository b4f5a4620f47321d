//! One device in documents.

use super::Words;
use super::cost::phase_seconds_json;
use super::environment::environment;
use super::fields::Fields;
use super::number::{by_name, rounded, timestamp};
use super::verdict::verdict_json;
use crate::model::{
    Absent, BoardView, DeviceKind, DeviceView, Figure, Hop, Metric, ProcessView, ShareKind,
    Snapshot,
};
use crate::text::clean;
use jiff::SignedDuration;
use serde_json::{Map, Value as Json, json};

/// A device of `snapshot` under the contract's names.
pub(super) fn device_json(view: &DeviceView, snapshot: &Snapshot, words: &dyn Words) -> Json {
    let mut fields = Fields::new(snapshot.interval.as_secs_f64());
    if let Some((why, since)) = view.silent {
        let ago = SignedDuration::try_from_secs_f64(snapshot.mono.seconds_since(since))
            .unwrap_or_default();
        fields.silent_since(
            why,
            timestamp(snapshot.at.saturating_sub(ago).unwrap_or(snapshot.at)),
        );
    }
    identity(&mut fields, view);
    environment(&mut fields, view);
    let nvlink = nvlink_is_there(view);
    for figure in Figure::ALL {
        if nvlink.is_ok() || !figure.path().starts_with("nvlink.") {
            fields.figure(figure.path(), view.figures.get(*figure));
        }
        companions(&mut fields, *figure, view);
    }
    if let Err(why) = nvlink {
        fields.put_absent("nvlink", why);
    }
    partitions_and_faults(&mut fields, view);
    fields.reading(
        "processes",
        view.processes.as_ref().map_err(|why| *why),
        |list| list.iter().map(process_json).collect::<Vec<_>>(),
    );
    if view.processes.is_ok() {
        fields.age("processes", view.processes_age_s);
    }
    fields.put("phase", view.phase.word());
    fields.put("utilization_seconds", rounded(view.utilization_seconds, 3));
    let work = view.work_seconds.map(|(sum, _)| rounded(sum, 3));
    fields.option("work_seconds", work, Absent::NotReported);
    fields.put("phase_seconds", phase_seconds_json(&view.phase_seconds));
    if view.phase_seconds.io_wait.is_none() {
        fields.put_absent("phase_seconds.io_wait", Absent::NotReported);
    }
    fields.put("verdict", verdict_json(view, words));
    fields.finish(true)
}

fn identity(fields: &mut Fields, view: &DeviceView) {
    let device = &view.device;
    fields.put("id", clean(&device.id.0));
    fields.put("index", device.index);
    fields.put("vendor", device.vendor.word());
    fields.put("name", clean(&device.name));
    fields.reading("uuid", device.uuid.as_deref().map_err(|why| *why), |uuid| {
        clean(uuid).into_owned()
    });
    fields.reading("pci_address", device.pci_address, |address| {
        address.to_string()
    });
    fields.reading(
        "driver",
        device.driver.as_deref().map_err(|why| *why),
        |driver| clean(driver).into_owned(),
    );
    fields.put("board", clean(&device.board.0));
    fields.put("parent", device.parent.as_ref().map(|id| clean(&id.0)));
    fields.put(
        "kind",
        match device.kind {
            DeviceKind::Device => "device",
            DeviceKind::Instance => "instance",
        },
    );
}

/// The words that stand beside a figure: its source, its kind. They are missing for the figure's own reason.
fn companions(fields: &mut Fields, figure: Figure, view: &DeviceView) {
    let why = view
        .figures
        .get(figure)
        .reading
        .err()
        .unwrap_or(Absent::NotReported);
    match figure {
        Figure::Power => {
            fields.put("power_kind", view.power_kind);
            fields.put("power_scope", view.power_scope);
        }
        Figure::PlatePower => {
            fields.option("plate_power_source", view.plate_power_source, why);
            let verified = view.plate_power_source.map(|_| !view.plate_unverified);
            fields.option("plate_power_verified", verified, why);
        }
        Figure::RatedPower => fields.option(
            "rated_power_source",
            view.rated_power_source.as_deref().map(clean),
            why,
        ),
        Figure::Temperature => fields.option("temperature_sensor", view.temperature_sensor, why),
        Figure::Headroom => fields.option("headroom_source", view.headroom_source, why),
        Figure::Share => {
            let kind = view.device.share().map(ShareKind::word);
            fields.option("share_kind", kind, why);
        }
        Figure::Work => fields.option("work_ratio_source", view.work_ratio_source, why),
        Figure::ClockMax => {
            fields.reading(
                "throttle",
                view.throttle.as_ref().map_err(|why| *why),
                |reasons| {
                    reasons
                        .iter()
                        .map(|reason| clean(reason).into_owned())
                        .collect::<Vec<_>>()
                },
            );
            let seconds = view
                .throttle_seconds
                .iter()
                .map(|(name, s)| ((*name).to_owned(), rounded(*s, 3)));
            fields.put("throttle_seconds", seconds.collect::<Map<_, _>>());
        }
        Figure::PcieReplays => {
            let why = view
                .figures
                .get(Figure::PcieRx)
                .reading
                .err()
                .unwrap_or(Absent::NotReported);
            fields.option("pcie.method", view.pcie_method, why);
            fields.put(
                "pcie.path",
                view.path.hops.iter().map(hop_json).collect::<Vec<_>>(),
            );
        }
        _ => {}
    }
}

/// Whether anything is known of NVLink, else the reason why there are no links to speak of.
fn nvlink_is_there(view: &DeviceView) -> Result<(), Absent> {
    let known = Figure::ALL
        .iter()
        .filter(|figure| figure.path().starts_with("nvlink."))
        .any(|figure| view.figures.get(*figure).reading.is_ok());
    if known {
        return Ok(());
    }
    match view.figures.get(Figure::NvlinkLinks).reading {
        Err(why) => Err(why),
        Ok(_) => Ok(()),
    }
}

fn partitions_and_faults(fields: &mut Fields, view: &DeviceView) {
    let mig = view.mig.as_ref().map(|(enabled, instances)| {
        json!({"enabled": enabled, "instances": instances.iter().map(|id| clean(&id.0)).collect::<Vec<_>>()})
    });
    let why = view
        .readings
        .get(Metric::MigEnabled)
        .err()
        .unwrap_or(Absent::NotReported);
    fields.option("mig", mig, why);
    let health = view.readings.get(Metric::Health);
    fields.reading("health", health, |level| match level as u8 {
        0 => "healthy",
        1 => "minor",
        2 => "major",
        _ => "critical",
    });
    let xid = view
        .xid
        .map(|(code, at)| json!({"code": code, "at": timestamp(at)}));
    fields.option("xid", xid, Absent::NotReported);
}

fn hop_json(hop: &Hop) -> Json {
    json!({
        "address": hop.address.to_string(),
        "generation": hop.generation,
        "width": hop.width,
        "generation_max": hop.generation_max,
        "width_max": hop.width_max,
        "emulated": hop.emulated,
    })
}

/// A process: the driver's numbers, and what the host says of it.
fn process_json(process: &ProcessView) -> Json {
    let mut fields = Fields::default();
    let host = process.host.as_ref().ok_or(Absent::NotReported);
    let word = |text: &std::sync::Arc<str>| clean(text).into_owned();
    fields.put("pid", process.device.pid);
    fields.reading(
        "name",
        host.and_then(|h| h.name.as_ref().map_err(|why| *why)),
        word,
    );
    fields.reading(
        "command",
        host.and_then(|h| h.command.as_ref().map_err(|why| *why)),
        word,
    );
    fields.reading(
        "user",
        host.and_then(|h| h.user.as_ref().map_err(|why| *why)),
        word,
    );
    fields.reading("state", host.and_then(|h| h.state), |state| {
        state.to_string()
    });
    fields.reading("started", host.and_then(|h| h.started), timestamp);
    fields.reading("foreign", host.map(|h| h.foreign), |foreign| foreign);
    fields.reading("memory_bytes", process.device.memory_bytes, |n| {
        by_name("memory_bytes", n)
    });
    fields.reading("utilization_ratio", process.device.utilization_ratio, |n| {
        by_name("utilization_ratio", n)
    });
    fields.put(
        "instance",
        process.device.instance.as_ref().map(|id| clean(&id.0)),
    );
    fields.put("graphics", process.device.graphics);
    fields.reading("cpu_cores", host.and_then(|h| h.cpu_cores), |n| {
        by_name("cpu_cores", n)
    });
    for (name, reading) in [
        ("read_bytes_per_s", host.and_then(|h| h.read_bytes_per_s)),
        ("write_bytes_per_s", host.and_then(|h| h.write_bytes_per_s)),
        (
            "major_faults_per_s",
            host.and_then(|h| h.major_faults_per_s),
        ),
    ] {
        fields.reading(name, reading, |n| by_name(name, n));
    }
    fields.reading(
        "waiting_threads",
        host.and_then(|h| h.waiting_threads),
        |n| n,
    );
    fields.reading(
        "wait_channel",
        host.and_then(|h| h.wait_channel.as_ref().map_err(|why| *why)),
        word,
    );
    fields.finish(false)
}

/// Devices that share a power budget.
pub(super) fn board_json(board: &BoardView, interval_s: f64) -> Json {
    let mut fields = Fields::new(interval_s);
    fields.put("id", clean(&board.id.0));
    fields.put("name", clean(&board.name));
    fields.put(
        "devices",
        board
            .devices
            .iter()
            .map(|id| clean(&id.0).into_owned())
            .collect::<Vec<_>>(),
    );
    fields.figure("power_w", board.power_w);
    fields.figure("power_limit_w", board.power_limit_w);
    fields.figure("plate_power_w", board.plate_power_w);
    fields.put("phase_seconds", phase_seconds_json(&board.phase_seconds));
    if board.phase_seconds.io_wait.is_none() {
        fields.put_absent("phase_seconds.io_wait", Absent::NotReported);
    }
    fields.finish(false)
}
