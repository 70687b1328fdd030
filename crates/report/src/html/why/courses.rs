//! How device and server went in the course of a run.

use ciphertax_records::why::{Course, Pictures};
use ciphertax_stats::format;
use serde::Serialize;

use crate::why::words::{course_figure, course_label};

/// The figures of one cell.
#[derive(Serialize)]
pub(super) struct Courses {
    cell: String,
    lines: Vec<CourseLine>,
    from: String,
    to: String,
}

/// One figure as a line.
#[derive(Serialize)]
struct CourseLine {
    label: String,
    /// In thousandths of width and height.
    path: String,
    most: String,
    words: String,
}

impl Courses {
    /// `None` where none was recorded, as of a short run.
    pub(super) fn of(cell: &str, pictures: &Pictures) -> Option<Self> {
        let courses: Vec<&Course> = pictures
            .courses
            .iter()
            .filter(|course| course.cell == cell && course.points.len() > 1)
            .collect();
        let times = || {
            courses
                .iter()
                .flat_map(|course| course.points.iter().map(|[time, _]| *time))
        };
        let (from, to) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
        (to > from).then(|| Self {
            cell: cell.to_owned(),
            lines: courses.iter().map(|course| line(course, from, to)).collect(),
            from: format::span(from),
            to: format::span(to),
        })
    }
}

fn line(course: &Course, from: f64, to: f64) -> CourseLine {
    let values = || course.points.iter().map(|[_, value]| *value);
    let most = values().fold(0.0, f64::max);
    let least = values().fold(f64::INFINITY, f64::min);
    let place = |[time, value]: &[f64; 2]| {
        let x = 1000.0 * (time - from) / (to - from);
        let y = match most > 0.0 {
            true => 980.0 - 960.0 * (value / most).clamp(0.0, 1.0),
            false => 980.0,
        };
        format!("{x:.0} {y:.0}")
    };
    let places: Vec<String> = course.points.iter().map(place).collect();
    let (label, most) = (course_label(&course.of), course_figure(&course.of, most));
    CourseLine {
        path: format!("M{}", places.join("L")),
        words: format!(
            "{label}: {} at least, {most} at most",
            course_figure(&course.of, least)
        ),
        label,
        most,
    }
}
