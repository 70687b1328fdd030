//! Figures as comma-separated values (RFC 4180), for spreadsheets, R and pandas. Numbers have a decimal point and no unit, which
//! has a column or is in the column's name; what was not measured is empty.

mod estimates;
mod samples;

pub use self::estimates::estimates;
pub use self::samples::samples;
