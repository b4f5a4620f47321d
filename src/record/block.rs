//! A block: the ticks of some minutes, column by column, compressed.
//!
//! What a driver says is a column for each device and metric; what changes seldom (identities, paths, processes, events)
//! stands as it came, with the number of its tick.

use super::columns::{Broken, Bytes, ints, put_ints, put_readings, put_varint, readings};
use crate::model::{
    Absent, Change, DeviceId, Event, HostSample, Metric, PsiScope, Reading, Readings, Sample, Tick,
};
use crate::units::MonoTime;
use jiff::Timestamp;
use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use serde::{Deserialize, Serialize};
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

/// How a block is packed: an LZ4 frame of columns. The byte stands before the frame and beside the row.
pub(super) const CODEC: u8 = 1;
/// A block never holds more ticks than this...
const MOST_TICKS: usize = 100_000;
/// ...nor more samples.
const MOST_SAMPLES: usize = 200_000;
/// Nor more bytes when unpacked.
const MOST_BYTES: u64 = 256 << 20;
/// Devices, lists of devices, bytes of a device's key.
const MOST_NAMES: usize = 65_536;

/// What is not in columns: by the number of its tick within the block.
#[derive(Serialize, Deserialize, Default)]
struct Seldom {
    changes: Vec<(u32, Change)>,
    events: Vec<(u32, Event)>,
}

/// Packs ticks.
#[cfg(test)]
pub(super) fn encode(ticks: &[Tick]) -> Result<Vec<u8>, Broken> {
    let mut block = Packing::default();
    ticks.iter().cloned().for_each(|tick| block.take(tick));
    block.finish()
}

/// A block that is being packed. Five minutes of readings are megabytes as ticks; as columns, of which most say the same
/// thing all the time, they are a fraction.
#[derive(Default)]
pub(super) struct Packing {
    /// Without their samples.
    ticks: Vec<Tick>,
    samples: Gathered,
}

impl Packing {
    /// Takes the next tick.
    pub(super) fn take(&mut self, mut tick: Tick) {
        self.samples.take(&tick);
        tick.samples = Vec::new();
        self.ticks.push(tick);
    }

    /// Samples so far.
    pub(super) const fn samples(&self) -> usize {
        self.samples.count
    }

    /// The block's bytes.
    pub(super) fn finish(self) -> Result<Vec<u8>, Broken> {
        let ticks = &self.ticks;
        let mut out = Vec::new();
        put_varint(&mut out, ticks.len() as u64);
        frames(&mut out, ticks);
        self.samples.put(&mut out);
        hosts(&mut out, ticks);
        let numbered = || (0_u32..).zip(ticks);
        let seldom = Seldom {
            changes: numbered()
                .flat_map(|(n, t)| t.changes.iter().map(move |c| (n, c.clone())))
                .collect(),
            events: numbered()
                .flat_map(|(n, t)| t.events.iter().map(move |e| (n, e.clone())))
                .collect(),
        };
        let seldom =
            postcard::to_allocvec(&seldom).map_err(|_| Broken("changes cannot be written"))?;
        out.extend(seldom);
        pack(&out)
    }
}

/// One metric of one device, tick by tick: one reading while it stays the same.
#[derive(Default)]
struct Column {
    same: Option<(Reading<f64>, usize)>,
    all: Vec<Reading<f64>>,
}

impl Column {
    fn push(&mut self, reading: Reading<f64>) {
        match self.same {
            None if self.all.is_empty() => self.same = Some((reading, 1)),
            Some((same, count)) if is_same(same, reading) => self.same = Some((same, count + 1)),
            Some((same, count)) => {
                self.all = vec![same; count];
                self.all.push(reading);
                self.same = None;
            }
            None => self.all.push(reading),
        }
    }

    fn put(self, out: &mut Vec<u8>) {
        match self.same {
            Some((same, count)) => put_readings(out, &vec![same; count]),
            None => put_readings(out, &self.all),
        }
    }
}

/// Whether two readings are the same to the last bit.
fn is_same(a: Reading<f64>, b: Reading<f64>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) | (Err(Absent::Implausible(a)), Err(Absent::Implausible(b))) => {
            a.to_bits() == b.to_bits()
        }
        (a, b) => a == b,
    }
}

/// What one device said.
struct DeviceColumns {
    id: DeviceId,
    since: Vec<i64>,
    columns: Vec<Column>,
}

/// The devices, which of them each tick has in what order, and the columns of each device.
#[derive(Default)]
struct Gathered {
    devices: Vec<DeviceColumns>,
    lists: Vec<Vec<usize>>,
    list_of_tick: Vec<i64>,
    count: usize,
}

impl Gathered {
    fn take(&mut self, tick: &Tick) {
        let mut list = Vec::with_capacity(tick.samples.len());
        for sample in &tick.samples {
            let known = self.devices.iter().position(|d| d.id == sample.device);
            let slot = known.unwrap_or_else(|| {
                self.devices.push(DeviceColumns {
                    id: sample.device.clone(),
                    since: Vec::new(),
                    columns: Metric::ALL.iter().map(|_| Column::default()).collect(),
                });
                self.devices.len() - 1
            });
            list.push(slot);
            let Some(device) = self.devices.get_mut(slot) else {
                continue;
            };
            let since = sample.at.0.wrapping_sub(tick.mono.0) as i64;
            device.since.push(since);
            for (metric, column) in Metric::ALL.iter().zip(&mut device.columns) {
                column.push(sample.readings.get(*metric));
            }
        }
        self.count += list.len();
        let known = self.lists.iter().rposition(|l| *l == list);
        let slot = known.unwrap_or_else(|| {
            self.lists.push(list);
            self.lists.len() - 1
        });
        self.list_of_tick.push(slot as i64);
    }

    fn put(self, out: &mut Vec<u8>) {
        put_varint(out, self.devices.len() as u64);
        for device in &self.devices {
            put_varint(out, device.id.0.len() as u64);
            out.extend(device.id.0.as_bytes());
        }
        put_varint(out, self.lists.len() as u64);
        for list in &self.lists {
            put_varint(out, list.len() as u64);
            list.iter().for_each(|slot| put_varint(out, *slot as u64));
        }
        put_ints(out, &self.list_of_tick);
        put_varint(out, Metric::COUNT as u64);
        for device in self.devices {
            put_ints(out, &device.since);
            device
                .columns
                .into_iter()
                .for_each(|column| column.put(out));
        }
    }
}

/// Unpacks ticks.
pub(super) fn decode(packed: &[u8]) -> Result<Vec<Tick>, Broken> {
    let unpacked = unpack(packed)?;
    let mut bytes = Bytes::new(&unpacked);
    let count = bytes.count(MOST_TICKS)?;
    let mut ticks = read_frames(&mut bytes, count)?;
    read_samples(&mut bytes, &mut ticks)?;
    read_hosts(&mut bytes, &mut ticks)?;
    let rest = bytes.take_rest();
    let seldom: Seldom =
        postcard::from_bytes(rest).map_err(|_| Broken("changes cannot be read"))?;
    for (n, change) in seldom.changes {
        tick_of(&mut ticks, n)?.changes.push(change);
    }
    for (n, event) in seldom.events {
        tick_of(&mut ticks, n)?.events.push(event);
    }
    Ok(ticks)
}

fn tick_of(ticks: &mut [Tick], n: u32) -> Result<&mut Tick, Broken> {
    ticks
        .get_mut(n as usize)
        .ok_or(Broken("a change belongs to no tick"))
}

/// Compresses bytes: the codec, then a frame.
pub(super) fn pack(bytes: &[u8]) -> Result<Vec<u8>, Broken> {
    let mut encoder = FrameEncoder::new(vec![CODEC]);
    encoder
        .write_all(bytes)
        .map_err(|_| Broken("compressing failed"))?;
    encoder.finish().map_err(|_| Broken("compressing failed"))
}

/// Undoes [`pack`].
pub(super) fn unpack(packed: &[u8]) -> Result<Vec<u8>, Broken> {
    let (codec, frame) = packed.split_first().ok_or(Broken("nothing is stored"))?;
    if *codec != CODEC {
        return Err(Broken("it is packed in a way that this version lacks"));
    }
    let mut bytes = Vec::new();
    let mut decoder = FrameDecoder::new(frame).take(MOST_BYTES);
    decoder
        .read_to_end(&mut bytes)
        .map_err(|_| Broken("it cannot be unpacked"))?;
    Ok(bytes)
}

fn column<T>(out: &mut Vec<u8>, ticks: &[Tick], of: impl Fn(&Tick) -> T)
where
    T: Into<i64>,
{
    let values: Vec<i64> = ticks.iter().map(|t| of(t).into()).collect();
    put_ints(out, &values);
}

/// Number, times and interval of each tick. 64 bits are kept as they are, whatever they are called.
fn frames(out: &mut Vec<u8>, ticks: &[Tick]) {
    column(out, ticks, |t| t.seq as i64);
    column(out, ticks, |t| t.at.as_second());
    column(out, ticks, |t| t.at.subsec_nanosecond());
    column(out, ticks, |t| t.mono.0 as i64);
    column(out, ticks, |t| t.interval.as_secs() as i64);
    column(out, ticks, |t| t.interval.subsec_nanos());
    column(out, ticks, |t| t.dropped as i64);
}

fn read_frames(bytes: &mut Bytes<'_>, count: usize) -> Result<Vec<Tick>, Broken> {
    let mut next = || ints(bytes, count).map(Vec::into_iter);
    let (mut seqs, mut seconds, mut nanos) = (next()?, next()?, next()?);
    let (mut monos, mut intervals, mut interval_nanos) = (next()?, next()?, next()?);
    let mut dropped = next()?;
    let mut frame = || {
        let at = Timestamp::new(seconds.next()?, nanos.next()?.try_into().ok()?).ok()?;
        let nanos = u32::try_from(interval_nanos.next()?)
            .ok()
            .filter(|n| *n < 1_000_000_000)?;
        Some(Tick {
            seq: seqs.next()? as u64,
            at,
            mono: MonoTime(monos.next()? as u64),
            interval: Duration::new(intervals.next()? as u64, nanos),
            dropped: dropped.next()? as u64,
            samples: Vec::new(),
            host: None,
            changes: Vec::new(),
            events: Vec::new(),
        })
    };
    (0..count)
        .map(|_| frame().ok_or(Broken("a time is out of range")))
        .collect()
}

fn read_samples(bytes: &mut Bytes<'_>, ticks: &mut [Tick]) -> Result<(), Broken> {
    let devices: Vec<DeviceId> = (0..bytes.count(MOST_NAMES)?)
        .map(|_| {
            let length = bytes.count(MOST_NAMES)?;
            let name = std::str::from_utf8(bytes.take(length)?)
                .map_err(|_| Broken("a device's key is no text"))?;
            Ok(DeviceId(Arc::from(name)))
        })
        .collect::<Result<_, _>>()?;
    let lists: Vec<Vec<usize>> = (0..bytes.count(MOST_TICKS)?)
        .map(|_| {
            let length = bytes.count(MOST_NAMES)?;
            (0..length).map(|_| bytes.count(MOST_NAMES)).collect()
        })
        .collect::<Result<_, _>>()?;
    let list_of_tick = ints(bytes, ticks.len())?;
    let mut places: Vec<Vec<(usize, usize)>> = vec![Vec::new(); devices.len()];
    let mut total = 0;
    for (n, (tick, list)) in ticks.iter_mut().zip(&list_of_tick).enumerate() {
        let list = usize::try_from(*list).ok().and_then(|l| lists.get(l));
        for slot in list.ok_or(Broken("a tick has no list of devices"))? {
            let id = devices.get(*slot).ok_or(Broken("a device is unknown"))?;
            if let Some(places) = places.get_mut(*slot) {
                places.push((n, tick.samples.len()));
            }
            total += 1;
            if total > MOST_SAMPLES {
                return Err(Broken("a count is too large"));
            }
            tick.samples.push(Sample {
                device: id.clone(),
                at: tick.mono,
                readings: Readings::default(),
            });
        }
    }
    // Slots that a later version has added are read over.
    let slots = bytes.count(4096)?;
    for places in places {
        let since = ints(bytes, places.len())?;
        for ((n, place), since) in places.iter().zip(since) {
            if let Some(sample) = sample_at(ticks, *n, *place) {
                sample.at = MonoTime(sample.at.0.wrapping_add(since as u64));
            }
        }
        for slot in 0..slots {
            let column = readings(bytes, places.len())?;
            let Some(metric) = Metric::ALL.get(slot) else {
                continue;
            };
            for ((n, place), reading) in places.iter().zip(column) {
                if let Some(sample) = sample_at(ticks, *n, *place) {
                    sample.readings.set(*metric, reading);
                }
            }
        }
    }
    Ok(())
}

fn sample_at(ticks: &mut [Tick], tick: usize, place: usize) -> Option<&mut Sample> {
    ticks.get_mut(tick)?.samples.get_mut(place)
}

/// Which ticks have a host sample, and its columns. The names are in the file: fields come and go.
fn hosts(out: &mut Vec<u8>, ticks: &[Tick]) {
    column(out, ticks, |t| i64::from(t.host.is_some()));
    let hosts: Vec<&HostSample> = ticks.iter().filter_map(|t| t.host.as_ref()).collect();
    let scopes: Vec<Reading<f64>> = hosts
        .iter()
        .map(|h| {
            h.psi_scope.map(|scope| match scope {
                PsiScope::Cgroup => 0.0,
                PsiScope::Host => 1.0,
            })
        })
        .collect();
    put_readings(out, &scopes);
    let figures: Vec<_> = hosts.iter().map(|h| h.figures()).collect();
    let names = HostSample::default().figures();
    put_varint(out, names.len() as u64);
    for (slot, (name, _)) in names.iter().enumerate() {
        put_varint(out, name.len() as u64);
        out.extend(name.as_bytes());
        let column: Vec<Reading<f64>> = figures
            .iter()
            .map(|f| f.get(slot).map_or(Err(Absent::NotReported), |(_, r)| *r))
            .collect();
        put_readings(out, &column);
    }
}

fn read_hosts(bytes: &mut Bytes<'_>, ticks: &mut [Tick]) -> Result<(), Broken> {
    let present = ints(bytes, ticks.len())?;
    let mut hosts: Vec<HostSample> = present
        .iter()
        .filter(|p| **p != 0)
        .map(|_| HostSample::default())
        .collect();
    let scopes = readings(bytes, hosts.len())?;
    for (host, scope) in hosts.iter_mut().zip(scopes) {
        host.psi_scope = scope.map(|s| {
            if s == 0.0 {
                PsiScope::Cgroup
            } else {
                PsiScope::Host
            }
        });
    }
    for _ in 0..bytes.count(4096)? {
        let length = bytes.count(MOST_NAMES)?;
        let name = std::str::from_utf8(bytes.take(length)?).unwrap_or_default();
        let column = readings(bytes, hosts.len())?;
        for (host, reading) in hosts.iter_mut().zip(column) {
            if let Some(slot) = host.figure_mut(name) {
                *slot = reading;
            }
        }
    }
    let with_host = ticks
        .iter_mut()
        .zip(present)
        .filter(|(_, present)| *present != 0)
        .map(|(tick, _)| tick);
    for (tick, host) in with_host.zip(hosts) {
        tick.host = Some(host);
    }
    Ok(())
}
