//! The embedded catalogue of list prices (`assets/prices.csv`): the last resort, never taken for what is paid.

use super::config::{Price, PriceScope, PriceSource};
use crate::units::Currency;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use std::str::FromStr as _;
use std::sync::Arc;

/// A list price on demand.
#[derive(Debug, Clone, PartialEq)]
pub struct ListPrice {
    /// The contract's id of the platform.
    pub platform: Arc<str>,
    /// The type, or the accelerator, in the platform's words.
    pub instance_type: Arc<str>,
    /// Region; empty where the price is the same in all of them.
    pub region: Arc<str>,
    /// With its scope; the source is the catalogue.
    pub price: Price,
    /// In what.
    pub currency: Currency,
    /// Since when the figure is known to stand, where its source says so.
    pub at: Option<Timestamp>,
    /// Where it was read.
    pub source: Arc<str>,
}

/// Why the catalogue cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("price catalogue, line {line}: {what}")]
pub struct PricesError {
    line: u64,
    what: String,
}

/// All list prices.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PriceList {
    rows: Vec<ListPrice>,
}

const EMBEDDED: &str = include_str!("../../assets/prices.csv");

impl PriceList {
    /// The catalogue that is built in.
    ///
    /// # Errors
    /// A row is not in its form; a test keeps the embedded catalogue readable.
    pub fn embedded() -> Result<Self, PricesError> {
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_reader(EMBEDDED.as_bytes());
        let mut rows = Vec::new();
        for record in reader.records() {
            let fail = |line, what: String| PricesError { line, what };
            let record = record
                .map_err(|e| fail(e.position().map_or(0, csv::Position::line), e.to_string()))?;
            let line = record.position().map_or(0, csv::Position::line);
            rows.push(row(&record).map_err(|what| fail(line, what))?);
        }
        Ok(Self { rows })
    }

    /// The list price of an instance: of its region, or one that is the same everywhere. What another region costs is
    /// no answer.
    #[must_use]
    pub fn find(
        &self,
        platform: &str,
        instance_type: &str,
        region: Option<&str>,
    ) -> Option<&ListPrice> {
        let same = |row: &&ListPrice| {
            *row.platform == *platform && row.instance_type.eq_ignore_ascii_case(instance_type)
        };
        let rows = || self.rows.iter().filter(same);
        let by_region = region.and_then(|region| rows().find(|row| *row.region == *region));
        by_region.or_else(|| rows().find(|row| row.region.is_empty()))
    }
}

fn row(record: &csv::StringRecord) -> Result<ListPrice, String> {
    let text = |at: usize| record.get(at).map(str::trim).unwrap_or_default();
    let per_hour =
        Decimal::from_str(text(5)).map_err(|_| format!("\"{}\" is not a price", text(5)))?;
    let scope = match text(6) {
        "instance" => PriceScope::Instance,
        "device" => PriceScope::Device,
        other => return Err(format!("\"{other}\" is not a scope")),
    };
    let at = match text(8) {
        "" => None,
        day => {
            let day: Date = day.parse().map_err(|_| format!("\"{day}\" is not a day"))?;
            let at = TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0));
            Some(at.map_err(|e| e.to_string())?)
        }
    };
    Ok(ListPrice {
        platform: text(0).into(),
        instance_type: text(1).into(),
        region: text(4).into(),
        price: Price {
            per_hour,
            scope,
            source: PriceSource::Catalogue,
        },
        currency: text(7).parse()?,
        at,
        source: text(9).into(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_catalogue_is_readable_sourced_and_plausible() {
        let list = PriceList::embedded().unwrap();
        assert!(list.rows.len() >= 50);
        for row in &list.rows {
            // Placeholders such as 0 and 700 are seen in such data.
            let price = row.price.per_hour;
            assert!(
                price > Decimal::ZERO && price < Decimal::from(200),
                "{row:?}"
            );
            assert!(!row.source.is_empty(), "{row:?}");
            assert!(!row.source.contains("memory"), "{row:?}");
        }
    }

    #[test]
    fn another_regions_price_is_no_answer() {
        let list = PriceList::embedded().unwrap();
        let price = |platform, kind, region| {
            let found = list.find(platform, kind, region)?;
            Some(found.price.per_hour.to_string())
        };
        assert_eq!(
            price("aws", "p5.48xlarge", Some("us-east-2")),
            Some("55.04".into())
        );
        assert_eq!(price("aws", "p5.48xlarge", Some("eu-west-1")), None);
        assert_eq!(price("aws", "p5.48xlarge", None), None);
        assert_eq!(
            price("lambda", "gpu_8x_h100_sxm5", Some("us-west-1")),
            Some("31.92".into())
        );
        // 8, not the 12 accelerators that such catalogues show.
        assert_eq!(
            price("azure", "standard_nd96isr_h100_v5", Some("eastus")),
            Some("98.32".into())
        );
        assert_eq!(price("nobody", "x", None), None);
    }
}
