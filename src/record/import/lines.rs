//! Lines of a log with their numbers, in bounded memory: LF or CR LF, UTF-8 or UTF-16 with or without a byte order mark.

use super::error::ImportError;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};

/// No line of a log is longer; what is longer is no log.
const LINE_BYTES: usize = 1 << 20;
/// Bytes that are looked at to tell what a log is.
const HEAD_BYTES: usize = 64 * 1024;
/// Lines that are looked at.
const HEAD_LINES: usize = 2000;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    /// Without its end.
    pub(super) text: String,
    /// Its end was there: the last line of a file that was cut off has none.
    pub(super) whole: bool,
}

/// A log line by line.
pub(super) struct Lines {
    source: BufReader<Box<dyn Read + Send>>,
    wide: Option<Wide>,
    begun: bool,
    number: u64,
    ready: VecDeque<Line>,
}

/// UTF-16, as some shells write redirected output.
#[derive(Clone, Copy)]
enum Wide {
    Little,
    Big,
}

impl Lines {
    pub(super) fn new(source: Box<dyn Read + Send>) -> Self {
        Self {
            source: BufReader::with_capacity(HEAD_BYTES, source),
            wide: None,
            begun: false,
            number: 0,
            ready: VecDeque::new(),
        }
    }

    /// The first bytes as they stand there.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) fn first_bytes(&mut self) -> Result<&[u8], ImportError> {
        self.source.fill_buf().map_err(reading)
    }

    /// The first lines, which come again as the next ones.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) fn head(&mut self) -> Result<&[Line], ImportError> {
        let mut bytes = 0;
        let mut head = VecDeque::new();
        while bytes < HEAD_BYTES && head.len() < HEAD_LINES {
            let Some(line) = self.next()? else { break };
            bytes += line.text.len() + 1;
            head.push_back(line);
        }
        head.append(&mut self.ready);
        self.ready = head;
        Ok(self.ready.make_contiguous())
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// It cannot be read, or is too long for a line.
    pub(super) fn next(&mut self) -> Result<Option<Line>, ImportError> {
        if let Some(line) = self.ready.pop_front() {
            return Ok(Some(line));
        }
        if !self.begun {
            self.begin()?;
        }
        let mut bytes = Vec::new();
        let end = match self.wide {
            Some(Wide::Little) => self.wide_line(&mut bytes, u16::from_le_bytes)?,
            Some(Wide::Big) => self.wide_line(&mut bytes, u16::from_be_bytes)?,
            None => {
                let most = LINE_BYTES as u64 + 1;
                let mut bounded = (&mut self.source).take(most);
                bounded.read_until(b'\n', &mut bytes).map_err(reading)?;
                bytes.last() == Some(&b'\n')
            }
        };
        if bytes.is_empty() && !end {
            return Ok(None);
        }
        self.number += 1;
        if bytes.len() > LINE_BYTES {
            let why = format!("longer than {} KiB: not a line of a log", LINE_BYTES / 1024);
            return Err(ImportError::at(self.number, why, super::error::KNOWN));
        }
        while matches!(bytes.last(), Some(b'\n' | b'\r')) {
            bytes.pop();
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        Ok(Some(Line {
            number: self.number,
            text,
            whole: end,
        }))
    }

    /// The byte order mark, where there is one.
    fn begin(&mut self) -> Result<(), ImportError> {
        self.begun = true;
        let first = self.source.fill_buf().map_err(reading)?;
        let (skipped, wide) = match first {
            [0xef, 0xbb, 0xbf, ..] => (3, None),
            [0xff, 0xfe, ..] => (2, Some(Wide::Little)),
            [0xfe, 0xff, ..] => (2, Some(Wide::Big)),
            _ => (0, None),
        };
        self.source.consume(skipped);
        self.wide = wide;
        Ok(())
    }

    /// A line of UTF-16 as UTF-8; whether its end was there.
    fn wide_line(
        &mut self,
        bytes: &mut Vec<u8>,
        unit_of: fn([u8; 2]) -> u16,
    ) -> Result<bool, ImportError> {
        let mut units = Vec::new();
        let mut end = false;
        while units.len() <= LINE_BYTES {
            let mut pair = [0; 2];
            match self.source.read_exact(&mut pair) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(reading(error)),
            }
            let unit = unit_of(pair);
            units.push(unit);
            if unit == u16::from(b'\n') {
                end = true;
                break;
            }
        }
        bytes.extend_from_slice(String::from_utf16_lossy(&units).as_bytes());
        Ok(end)
    }
}

fn reading(source: std::io::Error) -> ImportError {
    ImportError::Io {
        operation: "reading",
        source,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(u64, String, bool)> {
        let mut lines = Lines::new(Box::new(std::io::Cursor::new(bytes.to_vec())));
        lines.head().unwrap();
        std::iter::from_fn(|| lines.next().unwrap())
            .map(|line| (line.number, line.text, line.whole))
            .collect()
    }

    #[test]
    fn ends_and_marks_are_no_part_of_a_line() {
        let wanted = vec![
            (1, "a,b".to_owned(), true),
            (2, String::new(), true),
            (3, "1,2".to_owned(), false),
        ];
        assert_eq!(lines(b"a,b\n\n1,2"), wanted);
        assert_eq!(lines(b"\xef\xbb\xbfa,b\r\n\r\n1,2"), wanted);
        let wide: Vec<u8> = "\u{feff}a,b\r\n\r\n1,2"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(lines(&wide), wanted);
        assert_eq!(lines(b""), vec![]);
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_memory() {
        let endless = std::io::repeat(b'x');
        let mut lines = Lines::new(Box::new(endless));
        let error = lines.head().unwrap_err().to_string();
        assert!(error.starts_with("line 1: longer than"), "{error}");
    }
}
