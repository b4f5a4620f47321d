//! The budget that `b` asks for in the meter: of this screen's session, until it ends.

use super::keymap::Key;
use super::{App, Entry};
use crate::model::SourceKind;
use crate::text::Catalogue;
use crate::units::Money;
use rust_decimal::Decimal;
use std::sync::Arc;

/// Characters that an amount may have.
const LONGEST: usize = 20;
/// An amount beyond it is a slip of the hand.
const MOST: u32 = 1_000_000_000;

impl App {
    /// The budget that is being typed, and in which currency.
    #[must_use]
    pub fn budget_entry(&self) -> Option<(&Entry, &str)> {
        let entry = self.budget_entry.as_ref()?;
        let cost = self.picture()?.cost.as_ref()?;
        Some((entry, cost.currency.code()))
    }

    /// Opens the line, where there is an account that a budget can be of.
    pub(super) fn begin_budget(&mut self, t: Catalogue) {
        let Some(picture) = self.picture() else {
            return;
        };
        if self.frame().is_some() || matches!(picture.source, SourceKind::Recording(_)) {
            self.notify(t.meter_budget_replay().into_owned());
        } else if picture.cost.is_some() {
            self.budget_entry = Some(Entry::default());
        }
    }

    pub(super) fn type_budget(&mut self, key: Key, t: Catalogue) {
        let Some(entry) = &mut self.budget_entry else {
            return;
        };
        match key {
            Key::Char(c) if entry.text.chars().count() < LONGEST => {
                entry.text.push(c);
                entry.refused = false;
            }
            Key::Backspace => {
                entry.text.pop();
                entry.refused = false;
            }
            Key::Escape => self.budget_entry = None,
            Key::Enter if entry.text.trim().is_empty() => self.set_budget(None, t),
            Key::Enter => match amount(&entry.text) {
                Some(amount) => self.set_budget(Some(amount), t),
                None => entry.refused = true,
            },
            _ => {}
        }
    }

    fn set_budget(&mut self, budget: Option<Decimal>, t: Catalogue) {
        self.budget_entry = None;
        let cost = self.newest().and_then(|picture| picture.cost.as_ref());
        let budget = budget.zip(cost).map(|(amount, cost)| Money {
            amount,
            currency: cost.currency.clone(),
        });
        let said = match &budget {
            Some(budget) => t.meter_budget_set(budget),
            None => t.meter_budget_none(),
        };
        self.budget = Some(budget);
        self.keep_budget();
        self.notify(said.into_owned());
    }

    /// Gives the session the budget that was set here.
    pub(super) fn keep_budget(&mut self) {
        let Some(budget) = &self.budget else { return };
        let mut config = self.session.config().clone();
        config.budget = budget.as_ref().map(|budget| budget.amount);
        // In the currency that was shown when it was typed: a price of one's own has the configuration's anyway.
        if let Some(budget) = budget {
            config.currency = budget.currency.clone();
        }
        self.session.configure(config);
        self.snapshot = self.session.snapshot().map(Arc::new);
    }
}

/// An amount as people write it.
fn amount(text: &str) -> Option<Decimal> {
    let amount: Decimal = text.trim().parse().ok()?;
    (amount > Decimal::ZERO && amount <= Decimal::from(MOST)).then_some(amount)
}
