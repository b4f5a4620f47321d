//! Why a platform does not answer, in the language of the screen. What a tick tells of it is one English line, as
//! documents and recordings have it; here that line is found again among the catalogue's English sentences.

use super::Catalogue;

/// Bytes of a line that is looked at: a recording's may be anything, and sentences may stand inside each other.
const LONGEST: usize = 1024;

impl Catalogue {
    /// The line in this language; what is no sentence of ours stays as it is. A request (`GET /path`) stays before it.
    #[must_use]
    pub fn trouble(&self, english: &str) -> String {
        if english.len() > LONGEST {
            return english.to_owned();
        }
        let asked = english.starts_with("GET ") || english.starts_with("POST ");
        if asked && let Some((request, why)) = english.split_once(": ") {
            return format!("{request}: {}", self.trouble(why));
        }
        self.trouble_sentence(english)
            .unwrap_or_else(|| english.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use crate::text::{Catalogue, Lang};

    #[test]
    fn a_line_is_found_again_with_what_is_in_it() {
        let (en, zh) = (Catalogue::new(Lang::En), Catalogue::new(Lang::ZhCn));
        for (line, chinese) in [
            (
                "GET /v2/pods/{instance}: 403: the key may not read this",
                format!("GET /v2/pods/{{instance}}: {}", zh.trouble_key_may_not()),
            ),
            (
                "GET /x: cannot be reached: nobody listens there",
                format!("GET /x: {}", zh.trouble_unreachable(zh.trouble_nobody())),
            ),
            (
                "notices cannot be read: GET /y: no answer within 1.0 s",
                zh.trouble_notices(format!("GET /y: {}", zh.trouble_timed_out("1.0")))
                    .into_owned(),
            ),
            (
                "POST /z: /home/u/key can be read by others and is not used; next: chmod 600 /home/u/key",
                format!("POST /z: {}", zh.trouble_key_open("/home/u/key")),
            ),
            (
                "GET /x: 502: what nobody wrote",
                "GET /x: 502: what nobody wrote".to_owned(),
            ),
            ("", String::new()),
        ] {
            assert_eq!(zh.trouble(line), chinese);
            assert_eq!(en.trouble(line), line);
        }
        let hostile = "notices cannot be read: ".repeat(100_000);
        assert_eq!(zh.trouble(&hostile), hostile);
    }
}
