//! Greenhouse gas of the energy used: energy x PUE x grid intensity, with what each rests on (`assets/carbon.csv`).

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// What the user says of the power's origin.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Grid {
    /// A key of the table: `gcp:us-central1`, `country:DEU`.
    pub zone: Option<Arc<str>>,
    /// Grams of CO2 equivalent per kilowatt hour.
    pub intensity_g_per_kwh: Option<f64>,
    /// Power usage effectiveness of the data centre.
    pub pue: Option<f64>,
}

/// Emissions of the energy so far: location-based, by annual means.
#[derive(Debug, Clone, PartialEq)]
pub struct Carbon {
    /// Grams at the lowest PUE that is plausible here.
    pub g_low: f64,
    /// Grams.
    pub g: f64,
    /// Grams at the highest.
    pub g_high: f64,
    /// Grid intensity.
    pub intensity_g_per_kwh: f64,
    /// Lowest, likely and highest power usage effectiveness.
    pub pue: [f64; 3],
    /// Where the PUE is from: `config`, or the table's key and source; a range of the whole table where it has none of this
    /// platform.
    pub pue_source: Arc<str>,
    /// Where the intensity is from: `config`, or the table's key and source.
    pub source: Arc<str>,
    /// The year that the intensity is of; `None` where the user said it.
    pub year: Option<i16>,
    /// The place, as people say it.
    pub place: Arc<str>,
}

impl Carbon {
    /// The platform, or its region, whose PUE it is: `aws`, `gcp:us-east4`. `None`: the user's, or anybody's.
    #[must_use]
    pub fn pue_of(&self) -> Option<&str> {
        let (key, _) = self.pue_source.split_once(": ")?;
        key.strip_prefix("pue:")
    }
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    place: Arc<str>,
    value: f64,
    year: i16,
    source: Arc<str>,
}

/// Why the table cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("carbon table, line {line}: {what}")]
pub struct CarbonError {
    line: u64,
    what: String,
}

/// Grid intensities and PUEs by key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CarbonTable {
    rows: HashMap<Arc<str>, Row>,
}

const EMBEDDED: &str = include_str!("../../assets/carbon.csv");

/// Country codes of two letters, as data centres are called by, and of three, as the table has them.
const COUNTRIES: [(&str, &str); 37] = [
    ("AE", "ARE"),
    ("AU", "AUS"),
    ("BE", "BEL"),
    ("BR", "BRA"),
    ("CA", "CAN"),
    ("CH", "CHE"),
    ("CN", "CHN"),
    ("CZ", "CZE"),
    ("DE", "DEU"),
    ("DK", "DNK"),
    ("ES", "ESP"),
    ("FI", "FIN"),
    ("FR", "FRA"),
    ("GB", "GBR"),
    ("HK", "HKG"),
    ("ID", "IDN"),
    ("IE", "IRL"),
    ("IL", "ISR"),
    ("IN", "IND"),
    ("IS", "ISL"),
    ("IT", "ITA"),
    ("JP", "JPN"),
    ("KR", "KOR"),
    ("MX", "MEX"),
    ("MY", "MYS"),
    ("NL", "NLD"),
    ("NO", "NOR"),
    ("PL", "POL"),
    ("QA", "QAT"),
    ("RO", "ROU"),
    ("SA", "SAU"),
    ("SE", "SWE"),
    ("SG", "SGP"),
    ("TH", "THA"),
    ("TW", "TWN"),
    ("US", "USA"),
    ("ZA", "ZAF"),
];

impl CarbonTable {
    /// The table that is built in.
    ///
    /// # Errors
    /// A row is not in its form; a test keeps the embedded table readable.
    pub fn embedded() -> Result<Self, CarbonError> {
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_reader(EMBEDDED.as_bytes());
        let mut rows = HashMap::new();
        for record in reader.records() {
            let fail = |line, what: String| CarbonError { line, what };
            let record = record
                .map_err(|e| fail(e.position().map_or(0, csv::Position::line), e.to_string()))?;
            let line = record.position().map_or(0, csv::Position::line);
            let text = |at: usize| record.get(at).map(str::trim).unwrap_or_default();
            let value: f64 = text(2)
                .parse()
                .map_err(|_| fail(line, format!("\"{}\" is not a number", text(2))))?;
            let year = text(3)
                .parse()
                .map_err(|_| fail(line, format!("\"{}\" is not a year", text(3))))?;
            let row = Row {
                place: text(1).into(),
                value,
                year,
                source: text(4).into(),
            };
            rows.insert(text(0).into(), row);
        }
        Ok(Self { rows })
    }

    /// The built-in table, read once.
    #[must_use]
    pub fn shared() -> &'static Self {
        static TABLE: LazyLock<CarbonTable> =
            LazyLock::new(|| CarbonTable::embedded().unwrap_or_default());
        &TABLE
    }

    /// Whether a key stands in the table as a grid (not as a PUE).
    #[must_use]
    pub fn has_grid(&self, key: &str) -> bool {
        !key.starts_with("pue:") && self.rows.contains_key(key)
    }

    /// Emissions of so many kilowatt hours; `None` where the grid is not known.
    #[must_use]
    pub fn carbon(
        &self,
        kwh: f64,
        platform: Option<&str>,
        region: Option<&str>,
        grid: &Grid,
    ) -> Option<Carbon> {
        let found = self.grid(platform, region, grid);
        let (intensity, source, year, place) = match (grid.intensity_g_per_kwh, found) {
            (Some(own), _) => (own, Arc::from("config"), None, Arc::from("config")),
            (None, Some((key, row))) => {
                let place = if row.place.is_empty() {
                    Arc::from(key)
                } else {
                    row.place.clone()
                };
                let source = Arc::from(format!("{key}: {}", row.source));
                (row.value, source, Some(row.year), place)
            }
            (None, None) => return None,
        };
        let (pue, pue_source) = self.pue(platform, region, grid);
        let grams = |pue: f64| kwh * pue * intensity;
        Some(Carbon {
            g_low: grams(pue[0]),
            g: grams(pue[1]),
            g_high: grams(pue[2]),
            intensity_g_per_kwh: intensity,
            pue,
            pue_source,
            source,
            year,
            place,
        })
    }

    fn grid<'a>(
        &'a self,
        platform: Option<&str>,
        region: Option<&str>,
        grid: &Grid,
    ) -> Option<(&'a str, &'a Row)> {
        let get = |key: &str| self.rows.get_key_value(key).map(|(key, row)| (&**key, row));
        if let Some(zone) = &grid.zone {
            return get(zone);
        }
        let region = region?;
        let by_region = platform.and_then(|name| get(&format!("{name}:{}", region.to_lowercase())));
        by_region.or_else(|| get(&format!("country:{}", country(region)?)))
    }

    /// Lowest, likely and highest PUE: the user's or the region's own; else the platform's mean within what its
    /// regions show; else anything that the table shows. And where that is from.
    fn pue(
        &self,
        platform: Option<&str>,
        region: Option<&str>,
        grid: &Grid,
    ) -> ([f64; 3], Arc<str>) {
        if let Some(own) = grid.pue {
            return ([own; 3], "config".into());
        }
        let value = |key: String| {
            let row = self.rows.get(key.as_str())?;
            Some((row.value, Arc::from(format!("{key}: {}", row.source))))
        };
        let name = platform.unwrap_or_default();
        let region = region.unwrap_or_default().to_lowercase();
        if let Some((own, source)) = value(format!("pue:{name}:{region}")) {
            return ([own; 3], source);
        }
        let range = |prefix: &str| {
            self.rows
                .iter()
                .filter(|(key, _)| key.starts_with(prefix))
                .fold(None, |range: Option<(f64, f64)>, (_, row)| {
                    let (low, high) = range.unwrap_or((row.value, row.value));
                    Some((low.min(row.value), high.max(row.value)))
                })
        };
        let (low, high) = range("pue:").unwrap_or((1.0, 1.0));
        match value(format!("pue:{name}")) {
            // One figure for all regions tells nothing of their spread: then it is that of all platforms.
            Some((mean, source)) => {
                let (low, high) = range(&format!("pue:{name}:")).unwrap_or((low, high));
                ([low.min(mean), mean, high.max(mean)], source)
            }
            None => (
                [low, f64::midpoint(low, high), high],
                "all platforms in the table".into(),
            ),
        }
    }
}

/// The country of a data centre's name: `US-KS-2`, `EU-SE-1`, `EUR-IS-1`, `SE`, `Sweden, SE`.
fn country(region: &str) -> Option<&'static str> {
    let code = |word: &str| {
        COUNTRIES
            .iter()
            .find(|(two, three)| *two == word || *three == word)
            .map(|(_, three)| *three)
    };
    region
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !matches!(*word, "EU" | "EUR" | "AP" | "OC"))
        .find_map(code)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn grams(platform: &str, region: &str, kwh: f64) -> Option<Carbon> {
        let table = CarbonTable::embedded().unwrap();
        table.carbon(kwh, Some(platform), Some(region), &Grid::default())
    }

    /// 250 W over 36 h: 19 times apart between two regions.
    #[test]
    fn nine_kilowatt_hours_in_two_places() {
        let hangzhou = grams("alibaba", "cn-hangzhou", 9.0).unwrap();
        assert!((hangzhou.g - 7324.2).abs() < 0.1, "{}", hangzhou.g);
        let finland = grams("gcp", "europe-north1", 9.0).unwrap();
        assert!((finland.g - 385.73).abs() < 0.1, "{}", finland.g);
        assert_eq!((finland.year, &*finland.place), (Some(2024), "Finland"));
        assert_eq!(finland.pue, [1.09; 3]);
        let source = "pue:gcp:europe-north1: cloud-carbon-footprint, PUE by region";
        assert_eq!(&*finland.pue_source, source);
        // A mean of all regions lies between what the regions show.
        let warsaw = grams("gcp", "europe-central2", 1.0).unwrap();
        assert_eq!(warsaw.pue, [1.07, 1.1, 1.13]);
        assert!(warsaw.pue_source.starts_with("pue:gcp: "));
    }

    #[test]
    fn a_data_centre_is_in_a_country() {
        for (region, three) in [
            ("US-KS-2", Some("USA")),
            ("EU-SE-1", Some("SWE")),
            ("EUR-IS-1", Some("ISL")),
            ("Sweden, SE", Some("SWE")),
            ("default", None),
            ("", None),
        ] {
            assert_eq!(country(region), three, "{region}");
        }
        let kansas = grams("runpod", "US-KS-2", 1.0).unwrap();
        assert_eq!(kansas.intensity_g_per_kwh, 369.473);
        assert!(kansas.g_low < kansas.g && kansas.g < kansas.g_high);
        assert_eq!(&*kansas.pue_source, "all platforms in the table");
        assert_eq!(grams("runpod", "XX-1", 1.0), None);
    }

    #[test]
    fn the_user_knows_better() {
        let table = CarbonTable::embedded().unwrap();
        let grid = Grid {
            zone: None,
            intensity_g_per_kwh: Some(100.0),
            pue: Some(1.2),
        };
        let own = table.carbon(2.0, None, None, &grid).unwrap();
        assert_eq!((own.g_low, own.g, own.g_high), (240.0, 240.0, 240.0));
        assert_eq!((&*own.source, own.year), ("config", None));
        let zone = Grid {
            zone: Some("country:FRA".into()),
            ..Grid::default()
        };
        let own = table
            .carbon(1.0, Some("aws"), Some("us-east-1"), &zone)
            .unwrap();
        assert_eq!(own.intensity_g_per_kwh, 56.039);
        assert!(table.has_grid("country:FRA") && !table.has_grid("pue:aws"));
    }
}
