//! The table of nameplates: what each model was sold as.

use super::device::Vendor;
use std::collections::HashMap;
use std::sync::Arc;

/// One model's nameplate. Every figure has the row's source and confidence.
#[derive(Debug, Clone, PartialEq)]
pub struct PlateEntry {
    /// Who makes it.
    pub vendor: Vendor,
    /// Name as the driver returns it.
    pub name: Arc<str>,
    /// How many devices a board of this model is; the rated power is the board's.
    pub devices_per_board: u8,
    /// The row holds only for devices with about so much memory in bytes, because the name stands for several models.
    pub only_memory_bytes: Option<f64>,
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

/// All nameplates, by the vendor and the driver's name.
#[derive(Debug, Clone, Default)]
pub struct Plates {
    by_vendor: HashMap<Vendor, HashMap<Arc<str>, Vec<Arc<PlateEntry>>>>,
}

const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1_073_741_824.0;
/// A device's memory is that of a row within this share: drivers keep some for themselves.
const SAME_MEMORY: f64 = 0.08;

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
        let vendor = column("vendor")?;
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
        let (usual, per_board) = (column("usual_width")?, column("devices_per_board")?);
        let only_memory = column("only_memory_mib")?;
        let mut plates = Self::default();
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
                vendor: Vendor::of_word(text(vendor)),
                devices_per_board: number(per_board)?.map_or(1, |n| n as u8),
                only_memory_bytes: number(only_memory)?.map(|mib| mib * MIB),
                name: text(name).into(),
                form: text(form).into(),
                power_w: number(power)?,
                pcie_generation: number(generation)?.map(|n| n as u8),
                pcie_width: number(width)?.map(|n| n as u8),
                usual_width: number(usual)?.map(|n| n as u8),
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
            let names = plates.by_vendor.entry(entry.vendor).or_default();
            names
                .entry(entry.name.clone())
                .or_default()
                .push(Arc::new(entry));
        }
        Ok(plates)
    }

    /// The nameplate of a model by the driver's name, and by the device's memory in bytes where the name is not enough; a
    /// guest's share of a card has none.
    #[must_use]
    pub fn find(
        &self,
        vendor: Vendor,
        name: &str,
        memory: Option<f64>,
    ) -> Option<&Arc<PlateEntry>> {
        let names = self.by_vendor.get(&vendor)?;
        let rows = match names.get(name) {
            // Ascend's frameworks put the vendor's word before the chip's name, its tools do not.
            None if vendor == Vendor::Ascend => {
                names.get(name.strip_prefix("Ascend")?.trim_start())
            }
            rows => rows,
        };
        let same = |wanted: f64| memory.is_some_and(|m| (m / wanted - 1.0).abs() <= SAME_MEMORY);
        rows?
            .iter()
            .find(|row| row.only_memory_bytes.is_none_or(same))
    }

    /// All rows, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<PlateEntry>> {
        self.by_vendor
            .values()
            .flat_map(|names| names.values().flatten())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_embedded_table_is_readable_and_sourced() {
        let plates = Plates::embedded().unwrap();
        assert!(plates.iter().count() >= 90, "{}", plates.iter().count());
        for entry in plates.iter() {
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
        let find = |name| plates.find(Vendor::Nvidia, name, None);
        assert_eq!(find("NVIDIA A100-PCIE-40GB").unwrap().power_w, Some(250.0));
        assert_eq!(find("NVIDIA GB10").unwrap().power_w, None);
        for (name, width) in [("Tesla T4", Some(8)), ("NVIDIA H200", None)] {
            assert_eq!(find(name).unwrap().usual_width, width, "{name}");
        }
        assert!(find("GRID A100X-40C").is_none());
    }

    #[test]
    fn a_name_is_one_vendors_and_where_it_must_one_memorys() {
        let plates = Plates::embedded().unwrap();
        let mib = |mib: f64| Some(mib * MIB);
        let power = |vendor, name, memory| {
            let row = plates.find(vendor, name, memory)?;
            Some((row.power_w, &*row.confidence, row.devices_per_board))
        };
        // 910B with 32 GB is the first generation; one with 64 GB is none that is known.
        let first = Some((Some(310.0), "medium", 1));
        assert_eq!(power(Vendor::Ascend, "910B", mib(32768.0)), first);
        assert_eq!(power(Vendor::Ascend, "910B", mib(65536.0)), None);
        assert_eq!(power(Vendor::Ascend, "910B", None), None);
        let second = Some((Some(400.0), "low", 1));
        assert_eq!(power(Vendor::Ascend, "910B2", None), second);
        assert_eq!(power(Vendor::Ascend, "Ascend910B2", None), second);
        let pair = Some((None, "medium", 2));
        assert_eq!(power(Vendor::Ascend, "Ascend910", mib(65536.0)), pair);
        let single = Some((Some(72.0), "low", 1));
        assert_eq!(power(Vendor::Ascend, "310P3", mib(21525.0)), single);
        let duo = Some((Some(150.0), "low", 2));
        assert_eq!(power(Vendor::Ascend, "310P3", mib(43693.0)), duo);
        let board = Some((Some(250.0), "medium", 2));
        assert_eq!(power(Vendor::Cambricon, "MLU370-X8", None), board);
        let gaudi = Some((Some(600.0), "high", 1));
        assert_eq!(power(Vendor::Gaudi, "HL-225", None), gaudi);
        assert_eq!(power(Vendor::Nvidia, "910B2", None), None);
        // NVIDIA's thresholds are NVIDIA's.
        let others = || plates.iter().filter(|row| row.vendor != Vendor::Nvidia);
        assert!(others().count() >= 40);
        assert!(others().all(|row| row.slowdown_c.is_none()));
    }

    #[test]
    fn a_bad_row_is_named() {
        let head = EMBEDDED.lines().find(|l| !l.starts_with('#')).unwrap();
        let error = Plates::parse(&format!(
            "{head}\nnvidia,X,pcie,many,,,,,,,,low,nowhere,,,,\n"
        ))
        .unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.to_string().contains("many"), "{error}");
    }
}
