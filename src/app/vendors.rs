//! assets/docs/vendors.md: what each vendor tells, by which way, at what cost, and why not.

use super::words;
use crate::model::{Meter, VENDORS, VendorMeters, Way};
use crate::text::{Catalogue, Lang};

/// The begin of the document.
const HEAD: &str = "\
# Vendors

What is read of each vendor's devices, by which way, at what cost, and why not. This page is written from the table in
src/model/meters_table.rs, from which the screen takes its words for what a vendor never tells. `cargo test --lib
vendors_md` compares the two; with `UPDATE_DOCS=1` it writes the page.

What stands here is what the vendor's interface has, by its headers and pages. A device, a driver or a container may
refuse any of it: then the value is absent with its own reason. Nothing is estimated in its place, and no vendor's
threshold stands in for another's.
";

/// The whole document, as Markdown.
#[must_use]
pub fn document() -> String {
    let mut text = HEAD.to_owned();
    for column in &VENDORS {
        text.push_str(&section(column));
    }
    text
}

fn section(column: &VendorMeters) -> String {
    let t = Catalogue::new(Lang::En);
    let mut text = format!(
        "\n## {} (`{}`)\n\nBy {}.\n\n| meter | read by | cost |\n| --- | --- | --- |\n",
        column.title,
        column.vendor.word(),
        column.interface
    );
    for meter in Meter::ALL {
        let line = match column.way(meter) {
            Some(Way::By(how, pace)) => format!("{how} | {}", pace.words()),
            Some(Way::Not(why)) => {
                format!("not: {} | ", words::why_not(column.interface, why, t))
            }
            None => continue,
        };
        text.push_str(&format!("| {} | {line} |\n", meter.word()));
    }
    if !column.notes.is_empty() {
        text.push('\n');
    }
    for note in column.notes {
        text.push_str(&format!("- {note}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::Vendor;

    #[test]
    fn vendors_md_is_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/docs/vendors.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, document()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap();
        assert!(
            page == document(),
            "UPDATE_DOCS=1 cargo test --lib vendors_md"
        );
    }

    #[test]
    fn every_vendor_that_is_probed_has_a_column() {
        for vendor in [
            Vendor::Nvidia,
            Vendor::Ascend,
            Vendor::Cambricon,
            Vendor::Amd,
            Vendor::Gaudi,
            Vendor::Intel,
            Vendor::Iluvatar,
        ] {
            let column = VendorMeters::of(vendor).unwrap();
            // A line that breaks the table would be one that nobody reads.
            for meter in Meter::ALL {
                if let Some(Way::By(how, _)) = column.way(meter) {
                    assert!(!how.contains('|') && !how.is_empty());
                }
            }
        }
        assert!(VendorMeters::of(Vendor::Other).is_none());
    }
}
