//! The figure: every estimate a dot, a column for every method.

use std::path::Path;

use ciphertax_bench::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const SIZE: (u32, u32) = (900, 760);
const FONT: &str = "sans-serif";
/// Colours that stay apart for readers who see few of them (Okabe and Ito 2008).
const FIRST: RGBColor = RGBColor(213, 94, 0);
const OTHERS: RGBColor = RGBColor(0, 114, 178);

/// One chart: a metric, and for every method its estimates.
pub(crate) struct Panel {
    pub(crate) title: &'static str,
    pub(crate) series: Vec<Vec<f64>>,
}

/// Draws the panels one below the other into an SVG file.
pub(crate) fn draw(path: &Path, labels: &[String], panels: &[Panel]) -> Result<()> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    for (part, panel) in area.split_evenly((panels.len(), 1)).iter().zip(panels) {
        let all = panel.series.iter().flatten();
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
        let margin = ((high - low) * 0.1).max(0.005);
        let mut chart = ChartBuilder::on(part)
            .caption(panel.title, (FONT, 20))
            .margin(16)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(-0.5..labels.len() as f64 - 0.5, low - margin..high + margin)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .light_line_style(TRANSPARENT)
            .y_labels(8)
            .y_label_formatter(&|ratio| format!("{ratio:.2}"))
            .label_style((FONT, 15))
            .draw()?;
        for (column, (label, series)) in labels.iter().zip(&panel.series).enumerate() {
            let color = if column == 0 { FIRST } else { OTHERS };
            chart.draw_series(dots(column, series, color))?;
            let style = (FONT, 15).into_font().color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
            let (x, _) = chart.backend_coord(&(column as f64, low));
            let (left, top) = part.get_base_pixel();
            let (_, height) = part.dim_in_pixel();
            part.draw_text(label, &style, (x - left, height as i32 - 40))?;
            let _ = top;
        }
    }
    area.present()?;
    Ok(())
}

/// The estimates of a method, side by side so that equal ones do not hide each other.
fn dots(column: usize, series: &[f64], color: RGBColor) -> impl Iterator<Item = Circle<(f64, f64), i32>> {
    const WIDTH: f64 = 0.5;
    let count = series.len() as f64;
    series.iter().enumerate().map(move |(index, value)| {
        let offset = ((index as f64 + 0.5) / count - 0.5) * WIDTH;
        Circle::new((column as f64 + offset, *value), 5, color.mix(0.7).filled())
    })
}
