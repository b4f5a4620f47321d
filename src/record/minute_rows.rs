//! The rows by the minute, read back: what is left where the blocks have gone.

use super::error::RecordError;
use super::reader::Reader;
use super::schema::meaning;
use crate::model::{DeviceId, PhaseSeconds};
use jiff::Timestamp;
use std::sync::Arc;

/// One device in one minute. A value that is not there was not recorded.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // the table's names, units included
pub struct MinuteRow {
    /// Where the minute begins.
    pub at: Timestamp,
    pub device: DeviceId,
    /// Seconds of the minute that were recorded.
    pub seconds: f64,
    pub samples: u32,
    pub power_w: Option<f64>,
    pub temperature_max_c: Option<f64>,
    pub headroom_min_c: Option<f64>,
    pub utilization_ratio: Option<f64>,
    pub work_ratio: Option<f64>,
    pub memory_used_max_bytes: Option<f64>,
    pub clock_mhz: Option<f64>,
    pub pcie_rx_bytes_per_s: Option<f64>,
    pub pcie_tx_bytes_per_s: Option<f64>,
    pub nvlink_rx_bytes_per_s: Option<f64>,
    pub nvlink_tx_bytes_per_s: Option<f64>,
    /// What the seconds were spent on.
    pub phases: PhaseSeconds,
}

/// A device as the plain table names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDevice {
    /// Its key.
    pub id: DeviceId,
    /// Its number on the host.
    pub index: u32,
    /// The driver's name of it.
    pub name: Arc<str>,
    /// The vendor's word.
    pub vendor: String,
}

impl Reader {
    /// Where the minutes lie that have rows: the first one, and the last before an instant.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn minutes_before(
        &self,
        at: Timestamp,
    ) -> Result<Option<(Timestamp, Timestamp)>, RecordError> {
        self.db
            .query_row(
                "SELECT min(at), max(at) FROM minutes WHERE at <= ?1",
                [minute_name(at)],
                |row| {
                    Ok((
                        row.get::<_, Option<String>>(0)?,
                        row.get::<_, Option<String>>(1)?,
                    ))
                },
            )
            .map(|(first, last)| Some((first?.parse().ok()?, last?.parse().ok()?)))
            .map_err(|e| meaning("reading", &self.path, &e))
    }

    /// The first minute with a row at or after an instant.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn minute_after(&self, at: Timestamp) -> Result<Option<Timestamp>, RecordError> {
        self.db
            .query_row(
                "SELECT min(at) FROM minutes WHERE at >= ?1",
                [minute_name(at)],
                |row| row.get::<_, Option<String>>(0),
            )
            .map(|at| at?.parse().ok())
            .map_err(|e| meaning("reading", &self.path, &e))
    }

    /// All rows of a stretch of time, in order.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn minutes(&self, from: Timestamp, to: Timestamp) -> Result<Vec<MinuteRow>, RecordError> {
        let reading = |e: rusqlite::Error| meaning("reading", &self.path, &e);
        let mut query = self
            .db
            .prepare(
                "SELECT at, device, seconds, samples, power_w, temperature_max_c, headroom_min_c, utilization_ratio, \
                 work_ratio, memory_used_max_bytes, clock_mhz, pcie_rx_bytes_per_s, pcie_tx_bytes_per_s, \
                 nvlink_rx_bytes_per_s, nvlink_tx_bytes_per_s, compute_s, io_wait_s, queue_s, idle_s, unobserved_s \
                 FROM minutes WHERE at BETWEEN ?1 AND ?2 ORDER BY at, device",
            )
            .map_err(reading)?;
        let rows = query
            .query_map([minute_name(from), minute_name(to)], |row| {
                let at: String = row.get(0)?;
                let device: String = row.get(1)?;
                Ok(at.parse().ok().map(|at| (at, device)).map(|(at, device)| {
                    Ok(MinuteRow {
                        at,
                        device: DeviceId(Arc::from(device)),
                        seconds: row.get(2)?,
                        samples: row.get(3)?,
                        power_w: row.get(4)?,
                        temperature_max_c: row.get(5)?,
                        headroom_min_c: row.get(6)?,
                        utilization_ratio: row.get(7)?,
                        work_ratio: row.get(8)?,
                        memory_used_max_bytes: row.get(9)?,
                        clock_mhz: row.get(10)?,
                        pcie_rx_bytes_per_s: row.get(11)?,
                        pcie_tx_bytes_per_s: row.get(12)?,
                        nvlink_rx_bytes_per_s: row.get(13)?,
                        nvlink_tx_bytes_per_s: row.get(14)?,
                        phases: PhaseSeconds {
                            compute: row.get(15)?,
                            io_wait: row.get(16)?,
                            queue: row.get(17)?,
                            idle: row.get(18)?,
                            unobserved: row.get(19)?,
                        },
                    })
                }))
            })
            .map_err(reading)?;
        let mut all = Vec::new();
        for row in rows {
            // A time that is none is damage of that row; the others stand for themselves.
            if let Some(row) = row.map_err(reading)? {
                all.push(row.map_err(reading)?);
            }
        }
        Ok(all)
    }

    /// The devices that the plain tables speak of.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn devices(&self) -> Result<Vec<NamedDevice>, RecordError> {
        let reading = |e: rusqlite::Error| meaning("reading", &self.path, &e);
        let mut query = self
            .db
            .prepare("SELECT device, device_index, name, vendor FROM devices ORDER BY device_index, device")
            .map_err(reading)?;
        let rows = query
            .query_map([], |row| {
                Ok(NamedDevice {
                    id: DeviceId(Arc::from(row.get::<_, String>(0)?)),
                    index: row.get(1)?,
                    name: Arc::from(row.get::<_, String>(2)?),
                    vendor: row.get(3)?,
                })
            })
            .map_err(reading)?;
        rows.collect::<Result<_, _>>().map_err(reading)
    }
}

/// An instant as the table names it.
fn minute_name(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).map_or_else(|_| String::new(), |at| format!("{at:.0}"))
}
