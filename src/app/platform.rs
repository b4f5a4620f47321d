//! The platform in words, for the screen in its language and for documents in English.

use super::words::Signs;
use crate::model::{Claims, Notice, NoticeKind, Platform, PlatformStatus, PlatformView};
use crate::text::Catalogue;
use crate::units::{Ratio, Watts, format_span};
use jiff::Timestamp;
use std::borrow::Cow;

/// What the platform is about to do, and when.
#[must_use]
pub fn notice(notice: &Notice, at: Timestamp, t: Catalogue) -> Cow<'static, str> {
    let left = notice
        .at
        .map(|due| due.duration_since(at).as_secs_f64())
        .filter(|left| *left > 0.0)
        .map(format_span);
    match (notice.kind, left) {
        (NoticeKind::Preempt, Some(left)) => t.platform_notice_preempt(left),
        (NoticeKind::Preempt, None) => t.platform_notice_preempt_now(),
        (NoticeKind::Maintenance, Some(left)) => t.platform_notice_maintenance(left),
        (NoticeKind::Maintenance, None) => t.platform_notice_maintenance_now(),
        (NoticeKind::Retire, Some(left)) => t.platform_notice_retire(left),
        (NoticeKind::Retire, None) => t.platform_notice_retire_now(),
    }
}

/// The notice that matters most: what is taken back before what is maintained, the nearest first.
#[must_use]
pub fn worst_notice(platform: &Platform) -> Option<&Notice> {
    platform.notices.iter().min_by_key(|notice| {
        let kind = match notice.kind {
            NoticeKind::Preempt => 0,
            NoticeKind::Retire => 1,
            NoticeKind::Maintenance => 2,
        };
        (kind, notice.at)
    })
}

/// What the platform says, piece by piece: who and where, the state, the panel, notices, how old it is.
#[must_use]
pub fn pieces(view: &PlatformView, at: Timestamp, t: Catalogue, signs: Signs) -> Vec<String> {
    let platform = &view.platform;
    let mut pieces: Vec<String> = vec![platform.title.to_string()];
    let named = [
        &platform.instance_id,
        &platform.instance_type,
        &platform.region,
    ];
    pieces.extend(named.into_iter().flatten().map(|text| text.to_string()));
    if let Some(state) = &platform.state {
        pieces.push(match platform.billed_by_state {
            Some(true) => t.platform_state_billed(state).into_owned(),
            Some(false) => t.platform_state_not_billed(state).into_owned(),
            None => state.to_string(),
        });
    }
    if view.still_bills {
        pieces.push(t.platform_still_bills().into_owned());
    }
    pieces.extend(claims(&platform.claims, t, signs));
    match platform.notices.as_slice() {
        [] if platform.is_asked => pieces.push(t.platform_no_notices().into_owned()),
        notices => pieces.extend(notices.iter().map(|one| notice(one, at, t).into_owned())),
    }
    let why = t.trouble(platform.trouble.as_deref().unwrap_or_default());
    match view.status {
        PlatformStatus::Fresh => {}
        PlatformStatus::Stale => pieces.push(t.platform_stale(why).into_owned()),
        PlatformStatus::Refused => pieces.push(t.platform_refused(why).into_owned()),
    }
    if let Some(age) = view.age_s.filter(|_| platform.is_asked) {
        pieces.push(t.platform_age(format_span(age)).into_owned());
    }
    pieces
}

/// What the platform's panel says, and its own word on the hardware where a type does not say it.
fn claims(claims: &Claims, t: Catalogue, signs: Signs) -> Vec<String> {
    let link = claims.pcie_generation.zip(claims.pcie_width);
    [
        link.map(|(generation, width)| t.platform_claim_link(generation, width)),
        claims
            .power_limit_w
            .map(|limit| t.platform_claim_power(Watts(limit))),
        claims
            .utilization_ratio
            .map(|share| t.platform_claim_busy(Ratio(share))),
        claims
            .temperature_c
            .map(|c| t.platform_claim_hot(format!("{c:.0}{}", signs.celsius))),
    ]
    .into_iter()
    .flatten()
    .map(Cow::into_owned)
    .collect()
}
