//! `platform` of a snapshot and of the `platforms` document (contract.md section 3).

use super::number::{rounded, time_or_null};
use crate::model::{Claims, Notice, PlatformView};
use crate::text::clean;
use jiff::Timestamp;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// What the platform says, at an instant.
pub(super) fn platform_json(view: &PlatformView, at: Timestamp) -> Json {
    let platform = &view.platform;
    let text = |text: &Option<Arc<str>>| text.as_deref().map(|text| clean(text).into_owned());
    json!({
        "name": clean(&platform.name),
        "instance_id": text(&platform.instance_id),
        "instance_type": text(&platform.instance_type),
        "region": text(&platform.region),
        "detected_by": platform.detected_by.word(),
        "state": text(&platform.state),
        "billed_by_state": platform.billed_by_state,
        "spot": platform.spot,
        "age_s": view.age_s.map(|age| rounded(age, 1)),
        "status": view.status.word(),
        "trouble": text(&platform.trouble),
        "notices": platform.notices.iter().map(|notice| notice_json(notice, at)).collect::<Vec<_>>(),
        "claims": claims_json(&platform.claims),
    })
}

fn notice_json(notice: &Notice, at: Timestamp) -> Json {
    let left = notice.at.map(|due| due.duration_since(at).as_secs_f64());
    json!({
        "kind": notice.kind.word(),
        "at": time_or_null(notice.at),
        "seconds_left": left.map(|left| rounded(left.max(0.0), 1)),
        "text": clean(&notice.text),
    })
}

fn claims_json(claims: &Claims) -> Json {
    json!({
        "device_count": claims.device_count,
        "model": claims.model.as_deref().map(clean),
        "pcie_generation": claims.pcie_generation,
        "pcie_width": claims.pcie_width,
        "pcie_bytes_per_s": claims.pcie_bytes_per_s.map(|b| rounded(b, 0)),
        "power_limit_w": claims.power_limit_w.map(|w| rounded(w, 3)),
        "utilization_ratio": claims.utilization_ratio.map(|r| rounded(r, 4)),
        "temperature_c": claims.temperature_c.map(|c| rounded(c, 1)),
    })
}
