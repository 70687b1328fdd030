//! The figure: every estimate a dot, a column for every method.

use std::ops::Range;
use std::path::Path;

use ciphertax_bench::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const WIDTH: u32 = 1400;
const HEIGHT_OF_A_ROW: u32 = 360;
const FONT: &str = "sans-serif";
/// Room below a panel for the names of the methods.
const LABELS: u32 = 36;
/// Colours that stay apart for readers who see few of them (Okabe and Ito 2008).
const FIRST: RGBColor = RGBColor(213, 94, 0);
const OTHERS: RGBColor = RGBColor(0, 114, 178);

/// One chart: for every method its estimates.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) series: Vec<Vec<f64>>,
}

/// Draws rows of panels into an SVG file; the panels of a row share their scale.
pub(crate) fn draw(path: &Path, labels: &[String], rows: &[Vec<Panel>]) -> Result<()> {
    let size = (WIDTH, HEIGHT_OF_A_ROW * rows.len() as u32);
    let area = SVGBackend::new(path, size).into_drawing_area();
    area.fill(&WHITE)?;
    for (strip, row) in area.split_evenly((rows.len(), 1)).iter().zip(rows) {
        let scale = scale(row);
        for (place, panel) in strip.split_evenly((1, row.len())).iter().zip(row) {
            draw_panel(place, labels, panel, scale.clone())?;
        }
    }
    area.present()?;
    Ok(())
}

fn scale(row: &[Panel]) -> Range<f64> {
    let estimates = row.iter().flat_map(|panel| panel.series.iter().flatten());
    let (low, high) = estimates.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(*value), high.max(*value))
    });
    let margin = ((high - low) * 0.08).max(0.005);
    low - margin..high + margin
}

fn draw_panel(
    place: &DrawingArea<SVGBackend<'_>, Shift>,
    labels: &[String],
    panel: &Panel,
    scale: Range<f64>,
) -> Result<()> {
    let mut chart = ChartBuilder::on(place)
        .caption(&panel.title, (FONT, 18))
        .margin(14)
        .x_label_area_size(LABELS)
        .y_label_area_size(48)
        .build_cartesian_2d(-0.5..labels.len() as f64 - 0.5, scale)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .y_labels(8)
        .y_label_formatter(&|ratio| format!("{ratio:.2}"))
        .label_style((FONT, 14))
        .draw()?;
    let (left, top) = place.get_base_pixel();
    let (_, bottom) = chart.plotting_area().get_pixel_range();
    for (column, (label, series)) in labels.iter().zip(&panel.series).enumerate() {
        let color = if column == 0 { FIRST } else { OTHERS };
        chart.draw_series(dots(column, series, color))?;
        let (x, _) = chart.backend_coord(&(column as f64, 0.0));
        let style = (FONT, 14)
            .into_font()
            .color(&BLACK)
            .pos(Pos::new(HPos::Center, VPos::Top));
        place.draw_text(label, &style, (x - left, bottom.end - top + 8))?;
    }
    Ok(())
}

/// The estimates of a method, side by side so that equal ones do not hide each other.
fn dots(column: usize, series: &[f64], color: RGBColor) -> impl Iterator<Item = Circle<(f64, f64), i32>> {
    const SPREAD: f64 = 0.5;
    let count = series.len() as f64;
    series.iter().enumerate().map(move |(index, value)| {
        let offset = ((index as f64 + 0.5) / count - 0.5) * SPREAD;
        Circle::new((column as f64 + offset, *value), 5, color.mix(0.7).filled())
    })
}
