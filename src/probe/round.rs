//! One round of questions to one device, and what the answers together say of it.

use super::refusals::Refusals;
use super::vendor::Answer;
use crate::model::{Absent, Reading};
use std::cell::Cell;

/// What a library's return code says.
pub(crate) trait Said: Copy {
    /// The reason that a reading shows.
    fn absent(self) -> Absent;
    /// Whether the device itself is gone.
    fn lost(self) -> bool;
    /// Whether the library has to be opened again, if nothing else answers either.
    fn dead(self) -> bool;
}

/// What a device does not answer, by the question.
pub(crate) type Refused = Refusals<&'static str>;

/// One round of questions, with a tally of the answers.
pub(crate) struct Round<'a> {
    refused: &'a Refused,
    answered: Cell<bool>,
    lost: Cell<bool>,
    dead: Cell<bool>,
}

impl<'a> Round<'a> {
    pub(crate) const fn new(refused: &'a Refused) -> Self {
        Self {
            refused,
            answered: Cell::new(false),
            lost: Cell::new(false),
            dead: Cell::new(false),
        }
    }

    /// Asks; what the device or the library does not know is not asked again for a minute.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub(crate) fn ask<T, F: Said>(
        &self,
        question: &'static str,
        ask: impl FnOnce() -> Result<T, F>,
    ) -> Reading<T> {
        let lasting = |why| matches!(why, Absent::NotSupported | Absent::NoLibrary);
        self.refused.ask(question, lasting, || {
            let answer = ask();
            match &answer {
                Ok(_) => self.answered.set(true),
                Err(fault) => {
                    self.lost.set(self.lost.get() || fault.lost());
                    self.dead.set(self.dead.get() || fault.dead());
                }
            }
            answer.map_err(Said::absent)
        })
    }

    /// How the device answered.
    pub(crate) fn answer(&self) -> Answer {
        match (self.lost.get(), self.answered.get(), self.dead.get()) {
            (true, ..) => Answer::Lost(Absent::Lost),
            (_, false, true) => Answer::Reopen,
            _ => Answer::Answered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Said for u8 {
        fn absent(self) -> Absent {
            Absent::NotReported
        }
        fn lost(self) -> bool {
            self == 1
        }
        fn dead(self) -> bool {
            self == 2
        }
    }

    #[test]
    fn a_device_is_lost_at_one_word_and_a_library_dead_when_nothing_answers() {
        for (answers, expected) in [
            (&[Ok(1), Err(1_u8)][..], Answer::Lost(Absent::Lost)),
            (&[Ok(1), Err(2)], Answer::Answered),
            (&[Err(3), Err(2)], Answer::Reopen),
            (&[Err(3)], Answer::Answered),
            (&[], Answer::Answered),
        ] {
            let refused = Refused::default();
            let round = Round::new(&refused);
            for answer in answers {
                let _ = round.ask("x", || *answer);
            }
            assert_eq!(round.answer(), expected, "{answers:?}");
        }
    }
}
