//! The nearest valid word to one that is not: for "did you mean".

/// The candidate with the smallest edit distance to `word` (insert, delete, replace, swap of neighbours, each 1; case
/// ignored, `-` and `_` equal), the first of equals. None where all are too far to be a slip: more than a third of the
/// word's length, and at least 2.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = folded(word);
    // Nothing that long is a slip of a key or a name, and the distance costs the product of the lengths.
    if word.is_empty() || word.len() > 64 {
        return None;
    }
    let tolerance = (word.len() / 3).max(2);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &folded(candidate)), candidate))
        .filter(|(distance, candidate)| {
            *distance <= tolerance && *distance < candidate.chars().count()
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn folded(word: &str) -> Vec<char> {
    word.chars()
        .flat_map(char::to_lowercase)
        .map(|c| if c == '-' { '_' } else { c })
        .collect()
}

/// Optimal string alignment (restricted Damerau-Levenshtein), three rows at a time.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let mut best = (above[j] + usize::from(x != y))
                .min(above[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_nothing_else() {
        let roles = [
            "ok",
            "warn",
            "bad",
            "chart_line",
            "chart_ceiling",
            "banner_demo",
        ];
        for (word, expected) in [
            ("wran", Some("warn")),
            ("chart-line", Some("chart_line")),
            ("Chart_Lin", Some("chart_line")),
            ("chartceling", Some("chart_ceiling")),
            ("baner_demo", Some("banner_demo")),
            ("bda", Some("bad")),
            ("temperature", None),
            ("xy", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, roles), expected, "{word}");
        }
        assert_eq!(nearest(&"a".repeat(1000), roles), None);
    }

    #[test]
    fn distances() {
        for (a, b, expected) in [
            ("", "", 0),
            ("a", "", 1),
            ("ab", "ba", 1),
            ("kitten", "sitting", 3),
            ("limit", "limit", 0),
        ] {
            assert_eq!(distance(&folded(a), &folded(b)), expected, "{a} {b}");
        }
    }
}
