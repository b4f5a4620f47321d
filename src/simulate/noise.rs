//! Seeded random numbers: the same seed gives the same simulation, everywhere and for ever.

/// SplitMix64 (Steele, Lea, Flood 2014): small, and good enough for noise on a sensor.
#[derive(Debug, Clone)]
pub(super) struct Noise(u64);

impl Noise {
    /// A stream of its own for each part of a simulation.
    pub(super) const fn new(seed: u64, stream: u64) -> Self {
        Self(seed ^ stream.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0 to 1, 1 excluded.
    pub(super) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Mean 0, deviation 1: the sum of twelve uniform numbers less six. Its tails end at six deviations, which is right
    /// for a sensor, and it needs no function that differs between platforms.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// A first-order autoregressive wander: remembers for `memory_s`, strays by `deviation`.
#[derive(Debug, Clone)]
pub(super) struct Wander {
    memory_s: f64,
    deviation: f64,
    value: f64,
}

impl Wander {
    /// Starts at a value of its own stationary spread.
    pub(super) fn new(memory_s: f64, deviation: f64, noise: &mut Noise) -> Self {
        Self {
            memory_s,
            deviation,
            value: deviation * noise.normal(),
        }
    }

    /// The value `seconds` later.
    pub(super) fn step(&mut self, seconds: f64, noise: &mut Noise) -> f64 {
        let kept = (-seconds / self.memory_s).exp();
        let fresh = (1.0 - kept * kept).max(0.0).sqrt();
        self.value = self.value * kept + self.deviation * fresh * noise.normal();
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_seeded_and_has_its_spread() {
        let (mut a, mut b) = (Noise::new(7, 1), Noise::new(7, 1));
        assert_eq!(a.uniform(), b.uniform());
        assert_ne!(Noise::new(7, 2).uniform(), Noise::new(7, 1).uniform());
        let mut wander = Wander::new(30.0, 2.0, &mut a);
        let values: Vec<f64> = (0..20_000).map(|_| wander.step(10.0, &mut a)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 0.15, "{mean}");
        assert!((variance.sqrt() - 2.0).abs() < 0.15, "{variance}");
    }
}
