//! The table of nameplates: what each model was sold as.

use std::collections::HashMap;
use std::sync::Arc;

/// One model's nameplate. Every figure has the row's source and confidence.
#[derive(Debug, Clone, PartialEq)]
pub struct PlateEntry {
    /// Name as the driver returns it.
    pub name: Arc<str>,
    /// Form: `pcie`, `sxm`, `superchip`, `soc`, `oam`...
    pub form: Arc<str>,
    /// Rated power in watts.
    pub power_w: Option<f64>,
    /// Link generation as sold.
    pub pcie_generation: Option<u8>,
    /// Link width as sold.
    pub pcie_width: Option<u8>,
    /// A width below the full one that whole families of hosts run this model at: half the bandwidth, not a fault.
    pub usual_width: Option<u8>,
    /// NVLink (or its like) bytes per second, both directions together.
    pub nvlink_total_bytes_per_s: Option<f64>,
    /// Device memory in bytes as drivers count it: gibibytes where it is HBM, else decimal gigabytes (GDDR loses up to
    /// 6 % to ECC).
    pub memory_bytes: Option<f64>,
    /// Absolute slowdown threshold in degrees Celsius.
    pub slowdown_c: Option<f64>,
    /// Absolute maximum operating temperature in degrees Celsius.
    pub max_operating_c: Option<f64>,
    /// Whether power is read as a one-second average (`Some(true)`), instantaneous, or unknown.
    pub power_is_average: Option<bool>,
    /// `high`, `medium` or `low`; low rows are marked unverified wherever they are shown.
    pub confidence: Arc<str>,
    /// Where the row comes from.
    pub source: Arc<str>,
}

/// Why the table cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("nameplate table, line {line}: {what}")]
pub struct PlatesError {
    /// Line in the table.
    pub line: u64,
    /// What is wrong there.
    pub what: String,
}

/// All nameplates, by the driver's name.
#[derive(Debug, Clone, Default)]
pub struct Plates {
    by_name: HashMap<Arc<str>, Arc<PlateEntry>>,
}

const GIB: f64 = 1_073_741_824.0;

/// Models with HBM say their memory in gibibytes, less half a percent (H100: 81559 of 81920 MiB).
fn is_hbm(name: &str) -> bool {
    [
        "P100", "V100", "A100", "A800", "A30", "H100", "H800", "H200", "H20", "GH200",
    ]
    .iter()
    .any(|model| name.split([' ', '-']).any(|word| word == *model))
}

const EMBEDDED: &str = include_str!("../../assets/plates.csv");

impl Plates {
    /// The table that is built in.
    ///
    /// # Errors
    /// A row of the table is not in its form; a test keeps the embedded one readable.
    pub fn embedded() -> Result<Self, PlatesError> {
        Self::parse(EMBEDDED)
    }

    /// Reads a table in the form of `assets/plates.csv`.
    ///
    /// # Errors
    /// Names the line that is not in the form.
    pub fn parse(text: &str) -> Result<Self, PlatesError> {
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        let fail = |line: u64, what: String| PlatesError { line, what };
        let headers = reader
            .headers()
            .map_err(|e| fail(1, e.to_string()))?
            .clone();
        let column = |name: &str| {
            headers
                .iter()
                .position(|h| h == name)
                .ok_or_else(|| fail(1, format!("the column {name} is missing")))
        };
        let (name, form, power) = (column("name")?, column("form")?, column("power_w")?);
        let (generation, width, nvlink) = (
            column("pcie_generation")?,
            column("pcie_width")?,
            column("nvlink_total_gb_s")?,
        );
        let (slowdown, operating) = (column("slowdown_c")?, column("max_operating_c")?);
        let (semantics, confidence, source) = (
            column("power_reading")?,
            column("confidence")?,
            column("source")?,
        );
        let memory = column("memory_gb")?;
        let usual = headers.iter().position(|h| h == "usual_width");
        let mut by_name = HashMap::new();
        for row in reader.records() {
            let row =
                row.map_err(|e| fail(e.position().map_or(0, csv::Position::line), e.to_string()))?;
            let line = row.position().map_or(0, csv::Position::line);
            let text = |at: usize| row.get(at).map(str::trim).unwrap_or_default();
            let number = |at: usize| match text(at) {
                "" => Ok(None),
                word => word
                    .parse::<f64>()
                    .map(Some)
                    .map_err(|_| fail(line, format!("\"{word}\" is not a number"))),
            };
            let entry = PlateEntry {
                name: text(name).into(),
                form: text(form).into(),
                power_w: number(power)?,
                pcie_generation: number(generation)?.map(|n| n as u8),
                pcie_width: number(width)?.map(|n| n as u8),
                usual_width: match usual {
                    Some(at) => number(at)?.map(|n| n as u8),
                    None => None,
                },
                nvlink_total_bytes_per_s: number(nvlink)?.map(|gb| gb * 1e9),
                memory_bytes: number(memory)?
                    .map(|gb| gb * if is_hbm(text(name)) { GIB } else { 1e9 }),
                slowdown_c: number(slowdown)?,
                max_operating_c: number(operating)?,
                power_is_average: match text(semantics) {
                    "average" => Some(true),
                    "instant" => Some(false),
                    _ => None,
                },
                confidence: text(confidence).into(),
                source: text(source).into(),
            };
            by_name.insert(entry.name.clone(), Arc::new(entry));
        }
        Ok(Self { by_name })
    }

    /// The nameplate of a model by the driver's name; a guest's share of a card has none.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<PlateEntry>> {
        self.by_name.get(name)
    }

    /// How many models are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether the table has no model at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_embedded_table_is_readable_and_sourced() {
        let plates = Plates::embedded().unwrap();
        assert!(plates.len() >= 50, "{}", plates.len());
        for entry in plates.by_name.values() {
            assert!(!entry.source.is_empty(), "{} has no source", entry.name);
            assert!(
                ["high", "medium", "low"].contains(&&*entry.confidence),
                "{}: {}",
                entry.name,
                entry.confidence
            );
        }
    }

    #[test]
    fn the_articles_card_has_250_watts() {
        let plates = Plates::embedded().unwrap();
        assert_eq!(
            plates.find("NVIDIA A100-PCIE-40GB").unwrap().power_w,
            Some(250.0)
        );
        assert_eq!(plates.find("NVIDIA GB10").unwrap().power_w, None);
        for (name, width) in [("Tesla T4", Some(8)), ("NVIDIA H200", None)] {
            assert_eq!(plates.find(name).unwrap().usual_width, width, "{name}");
        }
        assert!(plates.find("GRID A100X-40C").is_none());
    }

    #[test]
    fn a_bad_row_is_named() {
        let head = EMBEDDED.lines().find(|l| !l.starts_with('#')).unwrap();
        let error =
            Plates::parse(&format!("{head}\nX,pcie,many,,,,,,,,low,nowhere,,\n")).unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.to_string().contains("many"), "{error}");
    }
}
