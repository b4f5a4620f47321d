//! Lines that a thread of its own writes: a reader that takes none must not keep a signal from ending the program.

use std::io::{self, Write};
use tokio::sync::{mpsc, oneshot};

/// Where documents go.
pub(super) type Out = Box<dyn Write + Send>;

/// Our side of the thread.
pub(super) struct LineWriter {
    lines: mpsc::Sender<String>,
    ended: oneshot::Receiver<(Out, io::Result<()>)>,
}

impl LineWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// There can be no thread.
    pub(super) fn start(mut out: Out) -> io::Result<Self> {
        let (lines, mut inbox) = mpsc::channel::<String>(1);
        let (end, ended) = oneshot::channel();
        std::thread::Builder::new()
            .name("lines".to_owned())
            .spawn(move || {
                let mut result = Ok(());
                while let (Ok(()), Some(line)) = (&result, inbox.blocking_recv()) {
                    result = out.write_all(line.as_bytes()).and_then(|()| out.flush());
                }
                drop(inbox);
                let _ = end.send((out, result));
            })?;
        Ok(Self { lines, ended })
    }

    /// Hands over a line, when the one before is written; `false` where nothing can be written any more.
    pub(super) async fn write(&self, line: String) -> bool {
        self.lines.send(line).await.is_ok()
    }

    /// Whether a line would be taken at once; `None` where nothing can be written any more.
    pub(super) fn is_free(&self) -> Option<bool> {
        (!self.lines.is_closed()).then(|| self.lines.capacity() > 0)
    }

    /// Waits until all is written. Gives back where it went.
    pub(super) async fn finish(self) -> (Out, io::Result<()>) {
        drop(self.lines);
        let lost = |_| -> (Out, io::Result<()>) {
            let why = io::Error::other("the writer of lines ended");
            (Box::new(io::sink()), Err(why))
        };
        self.ended.await.unwrap_or_else(lost)
    }
}
