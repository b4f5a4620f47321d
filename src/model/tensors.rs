//! How far what two jobs computed is from each other.

/// How a tensor fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorOutcome {
    /// The error is within the tolerance.
    Within,
    /// It is not.
    Outside,
    /// Some value is no finite number on one side, or another one.
    NotFinite,
    /// The shapes differ.
    Shape,
    /// One shape, stored in different orders (npy): not compared.
    Order,
    /// Only in the first file.
    OnlyA,
    /// Only in the second file.
    OnlyB,
}

impl TensorOutcome {
    /// The contract's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Outside => "outside",
            Self::NotFinite => "not_finite",
            Self::Shape => "shape",
            Self::Order => "order",
            Self::OnlyA => "only_a",
            Self::OnlyB => "only_b",
        }
    }
}

/// Numbers of two tensors of one shape.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TensorDistance {
    /// L2 norm of B less A.
    pub error: f64,
    /// L2 norm of A.
    pub norm: f64,
    /// Largest difference of two elements.
    pub largest: f64,
    /// Elements that are no finite number on one side, or another one; they are in none of the other numbers.
    pub not_finite: u64,
}

impl TensorDistance {
    /// The error over the norm of A; `None` where A is all zeros and B is not.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        if self.error == 0.0 {
            return Some(0.0);
        }
        Some(self.error / self.norm).filter(|ratio| ratio.is_finite())
    }
}

/// What a tensor is in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorForm {
    /// Its elements, by the name that safetensors gives them.
    pub kind: &'static str,
    /// Its dimensions.
    pub shape: Vec<u64>,
}

/// A tensor of both files, or of one.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedTensor {
    /// Its name; empty where neither file names any.
    pub name: String,
    /// In the first file.
    pub a: Option<TensorForm>,
    /// In the second.
    pub b: Option<TensorForm>,
    /// How far they are from each other, where they could be compared.
    pub distance: Option<TensorDistance>,
    /// How it fared.
    pub outcome: TensorOutcome,
}
