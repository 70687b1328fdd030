//! The rows of the initial population (revision 5.11, clause 4.3.3.1).

use ciphertax_model::Tpcc;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::config::SEED;
use super::random::{
    A_C_LAST, Sample, last_name, nurand, push_data, push_digits, push_letters, push_state, push_zip,
};
use super::table::{Chunk, Table};
use super::writer::Writer;

/// The number in seeds of what two tables have to agree on; above those of tables.
const ORDER_SHAPES: u64 = 9;
/// Last names that are there of all numbers, before the others are drawn.
const LAST_NAMES: u32 = 1000;

/// Makes the rows of a chunk, the same every time.
pub(super) struct Population {
    chunk: Chunk,
    c_load: u32,
    /// What the next rows are made from, counted from 0.
    next: u32,
    random: Pcg64Mcg,
    /// The numbers of lines, which orders say and lines are.
    shapes: Pcg64Mcg,
    /// The customers of a district in the order of their orders.
    customers: Vec<u32>,
    /// The rows that are unlike the others, a tenth of them.
    tenth: Sample,
}

impl Population {
    /// Those of a chunk whose last names are drawn with this constant.
    pub(super) fn new(chunk: Chunk, c_load: u32) -> Self {
        Self {
            chunk,
            c_load,
            next: 0,
            random: random(chunk.table as u64, chunk.warehouse),
            shapes: random(ORDER_SHAPES, chunk.warehouse),
            customers: Vec::new(),
            tenth: Sample::default(),
        }
    }

    /// Writes rows until there are so many bytes, and tells whether any are left.
    pub(super) fn write(&mut self, rows: &mut Writer<'_>, bytes: usize) -> bool {
        let units = self.chunk.table.units();
        while self.next < units && rows.length() < bytes {
            self.write_unit(rows);
            self.next += 1;
        }
        self.next < units
    }

    fn write_unit(&mut self, rows: &mut Writer<'_>) {
        let of_district = self.chunk.table.units() / Tpcc::DISTRICTS;
        let (district, number) = match self.chunk.table {
            Table::Warehouse | Table::Item | Table::Stock => (0, self.next + 1),
            _ => (self.next / of_district + 1, self.next % of_district + 1),
        };
        match self.chunk.table {
            Table::Warehouse => self.warehouse(rows),
            Table::District => self.district(rows, district),
            Table::Customer => self.customer(rows, district, number),
            Table::History => self.history(rows, district, number),
            Table::NewOrder => self.new_order(rows, district, number + Tpcc::FIRST_UNDELIVERED - 1),
            Table::Oorder => self.order(rows, district, number),
            Table::OrderLine => self.lines(rows, district, number),
            Table::Item => self.item(rows, number),
            Table::Stock => self.stock(rows, number),
        }
    }

    fn warehouse(&mut self, rows: &mut Writer<'_>) {
        rows.begin_row();
        rows.number(self.chunk.warehouse);
        rows.text(|out| push_letters(out, &mut self.random, 6..=10));
        self.address(rows);
        rows.decimal(self.random.random_range(0..=2000), 4);
        rows.constant("300000.00");
        rows.end_row();
    }

    fn district(&mut self, rows: &mut Writer<'_>, district: u32) {
        rows.begin_row();
        rows.numbers(&[district, self.chunk.warehouse]);
        rows.text(|out| push_letters(out, &mut self.random, 6..=10));
        self.address(rows);
        rows.decimal(self.random.random_range(0..=2000), 4);
        rows.constant("30000.00");
        rows.number(Tpcc::ORDERS + 1);
        rows.end_row();
    }

    fn customer(&mut self, rows: &mut Writer<'_>, district: u32, customer: u32) {
        if customer == 1 {
            self.tenth = Sample::tenth_of(Tpcc::CUSTOMERS);
        }
        let random = &mut self.random;
        let name = match customer <= LAST_NAMES {
            true => customer - 1,
            false => nurand(random, A_C_LAST, 0..=LAST_NAMES - 1, self.c_load),
        };
        rows.begin_row();
        rows.numbers(&[customer, district, self.chunk.warehouse]);
        rows.text(|out| push_letters(out, random, 8..=16));
        rows.text(|out| out.extend_from_slice(b"OE"));
        rows.text(|out| out.extend_from_slice(last_name(name).as_bytes()));
        self.address(rows);
        let random = &mut self.random;
        rows.text(|out| push_digits(out, random, 16));
        rows.date();
        let has_bad_credit = self.tenth.next(random);
        rows.text(|out| out.extend_from_slice(if has_bad_credit { b"BC" } else { b"GC" }));
        rows.constant("50000.00");
        rows.decimal(random.random_range(0..=5000), 4);
        rows.constant("-10.00");
        rows.constant("10.00");
        rows.numbers(&[1, 0]);
        rows.text(|out| push_letters(out, random, 300..=500));
        rows.end_row();
    }

    fn history(&mut self, rows: &mut Writer<'_>, district: u32, customer: u32) {
        rows.begin_row();
        let warehouse = self.chunk.warehouse;
        rows.numbers(&[customer, district, warehouse, district, warehouse]);
        rows.date();
        rows.constant("10.00");
        rows.text(|out| push_letters(out, &mut self.random, 12..=24));
        rows.end_row();
    }

    fn new_order(&self, rows: &mut Writer<'_>, district: u32, order: u32) {
        rows.begin_row();
        rows.numbers(&[order, district, self.chunk.warehouse]);
        rows.end_row();
    }

    fn order(&mut self, rows: &mut Writer<'_>, district: u32, order: u32) {
        if order == 1 {
            self.customers.clear();
            self.customers.extend(1..=Tpcc::CUSTOMERS);
            for last in (1..self.customers.len()).rev() {
                self.customers.swap(last, self.random.random_range(0..=last));
            }
        }
        rows.begin_row();
        rows.numbers(&[order, district, self.chunk.warehouse]);
        rows.number(self.customers[order as usize - 1]);
        rows.date();
        let carrier = self.random.random_range(1..=10);
        match order < Tpcc::FIRST_UNDELIVERED {
            true => rows.number(carrier),
            false => rows.null(),
        }
        rows.numbers(&[lines_of_next(&mut self.shapes), 1]);
        rows.end_row();
    }

    fn lines(&mut self, rows: &mut Writer<'_>, district: u32, order: u32) {
        let is_delivered = order < Tpcc::FIRST_UNDELIVERED;
        for line in 1..=lines_of_next(&mut self.shapes) {
            let random = &mut self.random;
            rows.begin_row();
            rows.numbers(&[order, district, self.chunk.warehouse, line]);
            rows.numbers(&[random.random_range(1..=Tpcc::ITEMS), self.chunk.warehouse]);
            match is_delivered {
                true => rows.date(),
                false => rows.null(),
            }
            rows.number(5);
            match is_delivered {
                true => rows.constant("0.00"),
                false => rows.decimal(random.random_range(1..=999_999), 2),
            }
            rows.text(|out| push_letters(out, random, 24..=24));
            rows.end_row();
        }
    }

    fn item(&mut self, rows: &mut Writer<'_>, item: u32) {
        if item == 1 {
            self.tenth = Sample::tenth_of(Tpcc::ITEMS);
        }
        let random = &mut self.random;
        let is_original = self.tenth.next(random);
        rows.begin_row();
        rows.numbers(&[item, random.random_range(1..=10_000)]);
        rows.text(|out| push_letters(out, random, 14..=24));
        rows.decimal(random.random_range(100..=10_000), 2);
        rows.text(|out| push_data(out, random, is_original));
        rows.end_row();
    }

    fn stock(&mut self, rows: &mut Writer<'_>, item: u32) {
        if item == 1 {
            self.tenth = Sample::tenth_of(Tpcc::ITEMS);
        }
        let random = &mut self.random;
        let is_original = self.tenth.next(random);
        rows.begin_row();
        rows.numbers(&[item, self.chunk.warehouse, random.random_range(10..=100)]);
        for _ in 0..Tpcc::DISTRICTS {
            rows.text(|out| push_letters(out, random, 24..=24));
        }
        rows.numbers(&[0, 0, 0]);
        rows.text(|out| push_data(out, random, is_original));
        rows.end_row();
    }

    /// Two streets, a city, a state and a postal code.
    fn address(&mut self, rows: &mut Writer<'_>) {
        for _ in 0..3 {
            rows.text(|out| push_letters(out, &mut self.random, 10..=20));
        }
        rows.text(|out| push_state(out, &mut self.random));
        rows.text(|out| push_zip(out, &mut self.random));
    }
}

pub(super) fn rows_of(chunk: Chunk) -> u32 {
    match chunk.table {
        Table::OrderLine => {
            let mut shapes = random(ORDER_SHAPES, chunk.warehouse);
            (0..chunk.table.units()).map(|_| lines_of_next(&mut shapes)).sum()
        }
        table => table.units(),
    }
}

fn lines_of_next(shapes: &mut Pcg64Mcg) -> u32 {
    shapes.random_range(5..=15)
}

fn random(of: u64, warehouse: u32) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(SEED << 36 ^ of << 32 ^ u64::from(warehouse))
}

#[cfg(test)]
mod tests {
    use super::super::writer::Form;
    use super::*;
    use crate::sql::BytesInLines;

    fn written(chunk: Chunk) -> Vec<u8> {
        let mut population = Population::new(chunk, 100);
        let mut all = Vec::new();
        let mut rows = 0;
        loop {
            let mut block = Vec::new();
            let form = Form::Lines(BytesInLines::Escaped);
            let mut writer = Writer::new(&mut block, form, None, "2026-11-23 06:20:51");
            let are_left = population.write(&mut writer, 10_000);
            rows += writer.finish().unwrap();
            all.extend(block);
            if !are_left {
                assert_eq!(rows, rows_of(chunk), "{chunk:?}");
                return all;
            }
        }
    }

    #[test]
    fn chunks_are_the_same_every_time_and_every_warehouse_has_its_own() {
        for table in Table::ALL {
            let of_warehouse = |warehouse| written(Chunk { table, warehouse });
            let first = of_warehouse(1);
            assert!(first == of_warehouse(1), "{table:?}");
            assert!(table == Table::Item || first != of_warehouse(2), "{table:?}");
            let lines = first.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let columns = table.columns().count();
            for line in lines {
                assert_eq!(line.split(|byte| *byte == b'\t').count(), columns, "{table:?}");
            }
        }
    }
}
