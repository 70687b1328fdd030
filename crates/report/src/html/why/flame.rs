//! Differential flame graphs: the stacks of two arms as boxes, grey where the arms do not differ beyond noise.

use ciphertax_base::format;
use ciphertax_records::Run;
use ciphertax_records::why::{Flame, FlameFrame, FlameOf};
use serde::Serialize;

use super::super::figure::{ArmName, Figure, Range};
use crate::why::{difference_in_words, microseconds_more, side_word};

/// More boxes than that are too small to be seen, and too many for a page.
const MOST_BOXES: usize = 420;
/// Narrower boxes are left out, as a share of the whole.
const NARROWEST: f64 = 0.001;
/// Boxes as wide as that have their name in them, as a share of the whole.
const NAMED: f64 = 0.025;
/// Longer names are cut off in the page.
const LONGEST_NAME: usize = 90;
/// Deeper stacks are cut off.
const DEEPEST: usize = 120;
/// Height of a box with its gap, in pixels.
const ROW: usize = 18;
/// Rows of the table beside it.
const CARRIERS: usize = 12;
/// What a callee has to have of a difference for it to be the callee's.
const MOST_OF_IT: f64 = 0.8;

/// One graph.
#[derive(Serialize)]
pub(super) struct FlameView {
    cell: String,
    arm: ArmName,
    arm_name: String,
    /// `server`, `client` or `waits`.
    of: &'static str,
    title: String,
    baseline: String,
    words: String,
    height: usize,
    boxes: Vec<FlameBox>,
    /// Where the differences are made.
    carriers: Vec<Carrier>,
}

/// One function where it was called from. Places are in percent of the width, and pixels from the top.
#[derive(Serialize)]
struct FlameBox {
    x: String,
    width: String,
    y: usize,
    /// `n` for noise, `u1` to `u3` for more and `d1` to `d3` for less, by how much.
    class: &'static str,
    title: String,
    text: Option<String>,
}

/// A function that differs, and calls none that has most of its difference.
#[derive(Serialize)]
struct Carrier {
    name: String,
    module: String,
    difference: Range,
    baseline: Figure,
    variant: Figure,
}

/// A function with its place.
struct Placed<'a> {
    frame: &'a FlameFrame,
    depth: usize,
    /// As shares of the whole.
    x: f64,
    width: f64,
}

impl FlameView {
    /// `None` if none of its functions differs beyond noise.
    pub(super) fn of(run: &Run, flame: &Flame, most_boxes: usize) -> Option<Self> {
        let placed = placed(&flame.root, most_boxes.min(MOST_BOXES));
        let deepest = placed.iter().map(|placed| placed.depth).max()?;
        let largest = placed
            .iter()
            .filter(|placed| placed.frame.is_significant)
            .map(|placed| difference(placed.frame).abs())
            .fold(0.0, f64::max);
        if largest == 0.0 {
            return None;
        }
        let (of, title) = match flame.of {
            FlameOf::Cpu(side) => (side_word(side), format!("CPU time of the {}", side_word(side))),
            FlameOf::Waits => ("waits", "What sessions wait for".to_owned()),
        };
        let carriers = carriers(&flame.root);
        let baseline = run.head.baseline().map_or("", |arm| arm.name.as_str());
        Some(Self {
            cell: flame.cell.clone(),
            arm: ArmName::of(run, &flame.arm),
            arm_name: flame.arm.clone(),
            of,
            words: words(flame, &title, baseline, &carriers),
            title,
            baseline: baseline.to_owned(),
            height: (deepest + 1) * ROW,
            boxes: placed.iter().map(|placed| shown(placed, largest)).collect(),
            carriers: carriers.iter().filter_map(|frame| carrier(frame)).collect(),
        })
    }
}

fn weight(frame: &FlameFrame) -> f64 {
    let of = |us: f64| if us.is_finite() { us.max(0.0) } else { 0.0 };
    of(frame.baseline_us) + of(frame.variant_us)
}

fn difference(frame: &FlameFrame) -> f64 {
    frame
        .difference
        .map_or(frame.variant_us - frame.baseline_us, |difference| {
            difference.value
        })
}

/// The widest functions with their places, callers before what they call. A function is never wider than its caller, so what is
/// left out leaves no gap above what is not.
fn placed(root: &FlameFrame, most: usize) -> Vec<Placed<'_>> {
    let whole = weight(root);
    if whole <= 0.0 {
        return Vec::new();
    }
    let mut placed = vec![Placed {
        frame: root,
        depth: 0,
        x: 0.0,
        width: 1.0,
    }];
    let mut next = 0;
    while next < placed.len() {
        let Placed {
            frame,
            depth,
            x,
            width,
        } = placed[next];
        next += 1;
        if depth + 1 >= DEEPEST {
            continue;
        }
        let mut at = x;
        for call in &frame.calls {
            let wide = (weight(call) / whole).min(x + width - at);
            if wide >= NARROWEST {
                placed.push(Placed {
                    frame: call,
                    depth: depth + 1,
                    x: at,
                    width: wide,
                });
            }
            at += wide.max(0.0);
        }
    }
    // Callers come first among equals, since the order of equals stays.
    placed.sort_by(|one, other| other.width.total_cmp(&one.width));
    placed.truncate(most);
    placed.sort_by_key(|placed| placed.depth);
    placed
}

fn shown(placed: &Placed<'_>, largest: f64) -> FlameBox {
    let frame = placed.frame;
    let value = difference(frame);
    let share = if largest > 0.0 { value.abs() / largest } else { 0.0 };
    let class = match (frame.is_significant, value > 0.0) {
        (false, _) => "n",
        (true, true) => ["u1", "u2", "u3"][level(share)],
        (true, false) => ["d1", "d2", "d3"][level(share)],
    };
    let sign = match class.as_bytes()[0] {
        b'u' => "+ ",
        b'd' => "− ",
        _ => "",
    };
    let name = cut(&frame.name, LONGEST_NAME);
    let difference = match frame.difference {
        Some(difference) => difference_in_words(difference),
        None => microseconds_more(value),
    };
    FlameBox {
        x: short(placed.x),
        width: short(placed.width),
        y: placed.depth * ROW,
        class,
        title: format!(
            "{name}\n{}\n{} → {}, {difference}{}",
            cut(&frame.module, LONGEST_NAME),
            format::microseconds(frame.baseline_us),
            format::microseconds(frame.variant_us),
            if frame.is_significant {
                ""
            } else {
                ", within noise"
            }
        ),
        text: (placed.width >= NAMED).then(|| format!("{sign}{}", cut(&frame.name, 60))),
    }
}

fn level(share: f64) -> usize {
    match share {
        0.5.. => 2,
        0.15.. => 1,
        _ => 0,
    }
}

/// Percent with as many decimals as a wide screen shows.
fn short(share: f64) -> String {
    format!("{:.2}%", 100.0 * share)
}

fn cut(name: &str, longest: usize) -> String {
    match name.char_indices().nth(longest) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}

/// Where the differences are made: the functions that differ and call none that has most of it, the largest first.
fn carriers(root: &FlameFrame) -> Vec<&FlameFrame> {
    let mut found = Vec::new();
    let mut open = vec![(root, 0)];
    while let Some((frame, depth)) = open.pop() {
        let has_most = |call: &&FlameFrame| {
            let of_it = difference(call) / difference(frame);
            call.is_significant && of_it >= MOST_OF_IT
        };
        if frame.is_significant && !frame.calls.iter().any(|call| has_most(&call)) {
            found.push(frame);
        }
        if depth < DEEPEST {
            open.extend(frame.calls.iter().map(|call| (call, depth + 1)));
        }
    }
    found.sort_by(|one, other| difference(other).abs().total_cmp(&difference(one).abs()));
    found.truncate(CARRIERS);
    found
}

fn carrier(frame: &FlameFrame) -> Option<Carrier> {
    Some(Carrier {
        name: cut(&frame.name, LONGEST_NAME),
        module: cut(&frame.module, LONGEST_NAME),
        difference: Range::microseconds(frame.difference?),
        baseline: Figure::microseconds(frame.baseline_us),
        variant: Figure::microseconds(frame.variant_us),
    })
}

/// What those hear who do not see it.
fn words(flame: &Flame, title: &str, baseline: &str, carriers: &[&FlameFrame]) -> String {
    let root = &flame.root;
    let largest: Vec<String> = carriers
        .iter()
        .take(3)
        .map(|frame| {
            format!(
                "{} {}",
                cut(&frame.name, 60),
                microseconds_more(difference(frame))
            )
        })
        .collect();
    let largest = match largest.is_empty() {
        true => "nothing differs beyond noise".to_owned(),
        false => format!("most differ {}", largest.join(", ")),
    };
    format!(
        "{title} in {}: {} with {baseline}, {} with {}; {largest}",
        flame.cell,
        format::microseconds(root.baseline_us),
        format::microseconds(root.variant_us),
        flame.arm
    )
}
