//! The rows by the minute, read back: what is left where the blocks have gone.

use super::error::RecordError;
use super::reader::Reader;
use super::schema::{meaning, sound};
use crate::model::{DeviceId, PhaseSeconds};
use jiff::Timestamp;
use rusqlite::types::Value;
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

    /// When the nearest event after an instant (or at it), or the nearest before it, was, as the plain table has it.
    ///
    /// # Errors
    /// The table cannot be read, or the row is not what was written.
    pub fn event_beside(
        &self,
        at: Timestamp,
        forward: bool,
    ) -> Result<Option<Timestamp>, RecordError> {
        let query = if forward {
            "SELECT * FROM events WHERE at >= ?1 ORDER BY at LIMIT 1"
        } else {
            "SELECT * FROM events WHERE at < ?1 ORDER BY at DESC LIMIT 1"
        };
        let rows = self.plain_rows(query, [format!("{at:.3}")], 5)?;
        Ok(rows.first().and_then(|row| match row.get(1) {
            Some(Value::Text(at)) => at.parse().ok(),
            _ => None,
        }))
    }

    /// All rows of a stretch of time, in order.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn minutes(&self, from: Timestamp, to: Timestamp) -> Result<Vec<MinuteRow>, RecordError> {
        let rows = self.plain_rows(
            "SELECT * FROM minutes WHERE at BETWEEN ?1 AND ?2 ORDER BY at, device",
            [minute_name(from), minute_name(to)],
            22,
        )?;
        Ok(rows.iter().filter_map(|row| minute_row(row)).collect())
    }

    /// Rows of a plain table up to the first that is not what was written.
    fn plain_rows(
        &self,
        query: &str,
        parameters: impl rusqlite::Params,
        columns: usize,
    ) -> Result<Vec<Vec<Value>>, RecordError> {
        let reading = |e: rusqlite::Error| meaning("reading", &self.path, &e);
        let mut query = self.db.prepare(query).map_err(reading)?;
        let mut rows = query.query(parameters).map_err(reading)?;
        let mut all: Vec<Vec<Value>> = Vec::new();
        while let Some(row) = rows.next().map_err(reading)? {
            match sound(row, columns).map_err(reading)? {
                Some(row) => all.push(row),
                None => {
                    let after = all.last().and_then(|row| match row.first() {
                        Some(Value::Text(at)) => at.parse().ok(),
                        _ => None,
                    });
                    return Err(RecordError::Damaged {
                        path: self.path.clone(),
                        after,
                        what: "a plain row is not what was written".to_owned(),
                    });
                }
            }
        }
        Ok(all)
    }

    /// The devices that the plain tables speak of.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn devices(&self) -> Result<Vec<NamedDevice>, RecordError> {
        let rows = self.plain_rows("SELECT * FROM devices ORDER BY device_index, device", [], 4)?;
        Ok(rows.iter().filter_map(|row| named_device(row)).collect())
    }
}

fn minute_row(columns: &[Value]) -> Option<MinuteRow> {
    let text = |n: usize| match columns.get(n) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let number = |n: usize| match columns.get(n) {
        Some(Value::Real(number)) => Some(*number),
        Some(Value::Integer(number)) => Some(*number as f64),
        _ => None,
    };
    Some(MinuteRow {
        at: text(0)?.parse().ok()?,
        device: DeviceId(Arc::from(text(1)?)),
        seconds: number(2)?,
        samples: number(3)? as u32,
        power_w: number(4),
        temperature_max_c: number(7),
        headroom_min_c: number(8),
        utilization_ratio: number(9),
        work_ratio: number(10),
        memory_used_max_bytes: number(11),
        clock_mhz: number(12),
        pcie_rx_bytes_per_s: number(13),
        pcie_tx_bytes_per_s: number(14),
        nvlink_rx_bytes_per_s: number(15),
        nvlink_tx_bytes_per_s: number(16),
        phases: PhaseSeconds {
            compute: number(17)?,
            io_wait: number(18),
            queue: number(19)?,
            idle: number(20)?,
            unobserved: number(21)?,
        },
    })
}

fn named_device(columns: &[Value]) -> Option<NamedDevice> {
    match columns {
        [
            Value::Text(id),
            Value::Integer(index),
            Value::Text(name),
            Value::Text(vendor),
        ] => Some(NamedDevice {
            id: DeviceId(Arc::from(id.as_str())),
            index: u32::try_from(*index).ok()?,
            name: Arc::from(name.as_str()),
            vendor: vendor.clone(),
        }),
        _ => None,
    }
}

/// An instant as the table names it.
fn minute_name(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).map_or_else(|_| String::new(), |at| format!("{at:.0}"))
}
