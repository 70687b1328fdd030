//! Where an order of values is cut best.

/// A place to cut, and how clear it is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Split {
    /// Position of the first value after it.
    pub(super) at: usize,
    /// The energy statistic as a multiple of the mean distance of the values, so that series of any scale compare.
    pub(super) statistic: f64,
}

/// Some values, to be cut in many orders.
pub(super) struct Splitter {
    values: Vec<f64>,
    /// Of each value among all, from 1.
    ranks: Vec<usize>,
    /// Sum of its distances to all.
    distances: Vec<f64>,
    /// Sum of the distances of all pairs, each counted once.
    all: f64,
    fewest_beside: usize,
    before: Before,
}

impl Splitter {
    pub(super) fn of(values: &[f64], fewest_beside: usize) -> Self {
        let mut sorted: Vec<usize> = (0..values.len()).collect();
        sorted.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let mut ranks = vec![0; values.len()];
        for (rank, of) in sorted.into_iter().enumerate() {
            ranks[of] = rank + 1;
        }
        let distance_to_all = |x: &f64| values.iter().map(|y| (x - y).abs()).sum();
        let distances: Vec<f64> = values.iter().map(distance_to_all).collect();
        Self {
            values: values.to_vec(),
            ranks,
            all: distances.iter().sum::<f64>() / 2.0,
            distances,
            fewest_beside,
            before: Before::new(values.len()),
        }
    }

    /// The best cut of the values in this order; the statistic is 0 where all are the same. It is Székely and Rizzo's:
    /// nm/(n+m) times the energy distance, 2·E|X−Y| − E|X−X'| − E|Y−Y'|, of the n values before and the m after.
    pub(super) fn clearest(&mut self, order: &[usize]) -> Split {
        let mut clearest = Split::default();
        let total = order.len() as f64;
        let mean_distance = 2.0 * self.all / (total * total);
        if mean_distance == 0.0 {
            return clearest;
        }
        self.before.clear();
        let (mut within_before, mut across) = (0.0, 0.0);
        for (done, &of) in order.iter().enumerate() {
            let to_those_before = self.before.distance(self.ranks[of], self.values[of]);
            self.before.add(self.ranks[of], self.values[of]);
            within_before += to_those_before;
            across += self.distances[of] - 2.0 * to_those_before;
            let (at, left) = (done + 1, order.len() - done - 1);
            if at < self.fewest_beside || left < self.fewest_beside {
                continue;
            }
            let within_after = self.all - within_before - across;
            let (n, m) = (at as f64, left as f64);
            let energy =
                2.0 * across / (n * m) - 2.0 * within_before / (n * n) - 2.0 * within_after / (m * m);
            let statistic = n * m / total * energy / mean_distance;
            if statistic > clearest.statistic {
                clearest = Split { at, statistic };
            }
        }
        clearest
    }
}

/// The values so far, by rank: Fenwick's tree of their numbers and sums, so that a series of n values takes n·log n steps.
struct Before {
    tree: Vec<(f64, f64)>,
    whole: (f64, f64),
}

impl Before {
    fn new(values: usize) -> Self {
        Self {
            tree: vec![(0.0, 0.0); values + 1],
            whole: (0.0, 0.0),
        }
    }

    fn clear(&mut self) {
        self.tree.fill((0.0, 0.0));
        self.whole = (0.0, 0.0);
    }

    fn add(&mut self, rank: usize, value: f64) {
        let mut node = rank;
        while node < self.tree.len() {
            self.tree[node].0 += 1.0;
            self.tree[node].1 += value;
            node += lowest_bit(node);
        }
        self.whole.0 += 1.0;
        self.whole.1 += value;
    }

    /// The sum of the distances of a value to those so far.
    fn distance(&self, rank: usize, value: f64) -> f64 {
        let (mut number, mut sum) = (0.0, 0.0);
        let mut node = rank;
        while node > 0 {
            number += self.tree[node].0;
            sum += self.tree[node].1;
            node -= lowest_bit(node);
        }
        value * (2.0 * number - self.whole.0) + self.whole.1 - 2.0 * sum
    }
}

fn lowest_bit(node: usize) -> usize {
    node & node.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the formula says it, pair by pair.
    fn by_definition(values: &[f64], at: usize) -> f64 {
        let mean = |a: &[f64], b: &[f64]| {
            let sum: f64 = a.iter().flat_map(|x| b.iter().map(move |y| (x - y).abs())).sum();
            sum / (a.len() * b.len()) as f64
        };
        let (before, after) = values.split_at(at);
        let energy = 2.0 * mean(before, after) - mean(before, before) - mean(after, after);
        (before.len() * after.len()) as f64 / values.len() as f64 * energy / mean(values, values)
    }

    #[test]
    fn the_statistic_is_the_one_of_the_definition() {
        let values: Vec<f64> = (0..17)
            .map(|i| f64::from(i * 7 % 11) + if i > 9 { 2.5 } else { 0.0 })
            .collect();
        let expected = (2..=15).map(|at| (at, by_definition(&values, at)));
        let (at, statistic) = expected.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        let split = Splitter::of(&values, 2).clearest(&(0..17).collect::<Vec<_>>());
        assert_eq!(split.at, at);
        assert!(
            (split.statistic - statistic).abs() < 1e-9,
            "{split:?} {statistic}"
        );
    }

    #[test]
    fn an_order_is_one_of_the_values() {
        let values = [5.0, 1.0, 5.1, 1.1, 5.2, 1.2];
        let split = Splitter::of(&values, 2).clearest(&[0, 2, 4, 1, 3, 5]);
        let in_order = by_definition(&[5.0, 5.1, 5.2, 1.0, 1.1, 1.2], 3);
        assert_eq!(split.at, 3);
        assert!((split.statistic - in_order).abs() < 1e-9);
    }
}
