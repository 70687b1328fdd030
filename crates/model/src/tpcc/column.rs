//! The 92 columns of TPC-C's nine tables: in which shares of a policy each is, and what the server does with it.

use crate::columns::ColumnSelection;

use ColumnShare::{All, Half, Keys};
use SqlType::{Char, Decimal, Integer, Timestamp, Varchar};
use StoredUse::{Arithmetic, Equality, Order, Payload};

/// A column of TPC-C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TpccColumn {
    /// Its table, for example `customer`.
    pub table: &'static str,
    /// Its name, for example `c_last`.
    pub column: &'static str,
    /// The smallest share that it is in.
    pub share: ColumnShare,
    /// What statements do with it.
    pub stored_use: StoredUse,
    /// What it holds.
    pub sql_type: SqlType,
    /// True if it may be NULL.
    pub nullable: bool,
}

/// What a column holds, as the published study's tables do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlType {
    /// A signed integer of 32 bits.
    Integer,
    /// A decimal number of so many digits, and how many of them stand behind the point.
    Decimal(u32, u32),
    /// A text of always so many characters.
    Char(u32),
    /// A text of at most so many characters.
    Varchar(u32),
    /// A date with its time, to the second.
    Timestamp,
}

impl SqlType {
    /// Its code in MySQL's protocol.
    pub const fn protocol_type(self) -> u8 {
        match self {
            Self::Integer => 3,
            Self::Timestamp => 12,
            Self::Decimal(..) => 246,
            Self::Varchar(_) => 253,
            Self::Char(_) => 254,
        }
    }

    /// The most bytes of one of its values as text.
    pub const fn text_length(self) -> u32 {
        match self {
            Self::Integer => "-2147483648".len() as u32,
            Self::Timestamp => "2026-11-23 06:20:51".len() as u32,
            // Its sign, and the point with the zero before it.
            Self::Decimal(precision, _) => precision + 3,
            Self::Char(length) | Self::Varchar(length) => length,
        }
    }
}

/// Which columns a policy encrypts, by the published study's shares; each is part of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnShare {
    /// 20 %: the 19 columns of primary keys.
    Keys,
    /// 50 %: these, and amounts, rates, dates, counts and foreign keys: 46.
    Half,
    /// All 92.
    All,
}

/// What TPC-C's statements have the server do with a column, and so which cells can be stored in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredUse {
    /// It is kept and read: any cell can be stored.
    Payload,
    /// It is compared for equality or joined: deterministic cells can be stored.
    Equality,
    /// It is ordered, or compared by size: no cell can be stored.
    Order,
    /// The server computes with it: no cell can be stored.
    Arithmetic,
}

impl TpccColumn {
    /// True if a policy names it.
    pub fn is_in(&self, selection: &ColumnSelection) -> bool {
        match selection {
            ColumnSelection::None => false,
            ColumnSelection::Keys => self.share <= ColumnShare::Keys,
            ColumnSelection::Half => self.share <= ColumnShare::Half,
            ColumnSelection::All => true,
            ColumnSelection::Payload => self.stored_use == StoredUse::Payload,
            ColumnSelection::Named(names) => names.iter().any(|name| self.is_called(name)),
        }
    }

    /// True for its name after that of its table and a point.
    fn is_called(&self, name: &str) -> bool {
        name.strip_prefix(self.table)
            .and_then(|rest| rest.strip_prefix('.'))
            == Some(self.column)
    }

    const fn nullable(self) -> Self {
        Self {
            nullable: true,
            ..self
        }
    }
}

const fn column(
    table: &'static str,
    column: &'static str,
    sql_type: SqlType,
    share: ColumnShare,
    stored_use: StoredUse,
) -> TpccColumn {
    TpccColumn {
        table,
        column,
        share,
        stored_use,
        sql_type,
        nullable: false,
    }
}

/// The nine tables, in the specification's order. ORDER is called `oorder`, as BenchmarkSQL calls it, since the word is SQL's own.
pub const TABLES: [&str; 9] = [
    "warehouse",
    "district",
    "customer",
    "history",
    "new_order",
    "oorder",
    "order_line",
    "item",
    "stock",
];

/// All columns, by table in the specification's order.
#[rustfmt::skip]
pub const COLUMNS: &[TpccColumn] = &[
    column("warehouse", "w_id", Integer, Keys, Equality),
    column("warehouse", "w_name", Varchar(10), All, Payload),
    column("warehouse", "w_street_1", Varchar(20), All, Payload),
    column("warehouse", "w_street_2", Varchar(20), All, Payload),
    column("warehouse", "w_city", Varchar(20), All, Payload),
    column("warehouse", "w_state", Char(2), All, Payload),
    column("warehouse", "w_zip", Char(9), All, Payload),
    column("warehouse", "w_tax", Decimal(4, 4), Half, Payload),
    column("warehouse", "w_ytd", Decimal(12, 2), Half, Arithmetic),
    column("district", "d_id", Integer, Keys, Equality),
    column("district", "d_w_id", Integer, Keys, Equality),
    column("district", "d_name", Varchar(10), All, Payload),
    column("district", "d_street_1", Varchar(20), All, Payload),
    column("district", "d_street_2", Varchar(20), All, Payload),
    column("district", "d_city", Varchar(20), All, Payload),
    column("district", "d_state", Char(2), All, Payload),
    column("district", "d_zip", Char(9), All, Payload),
    column("district", "d_tax", Decimal(4, 4), Half, Payload),
    column("district", "d_ytd", Decimal(12, 2), Half, Arithmetic),
    column("district", "d_next_o_id", Integer, Half, Arithmetic),
    column("customer", "c_id", Integer, Keys, Equality),
    column("customer", "c_d_id", Integer, Keys, Equality),
    column("customer", "c_w_id", Integer, Keys, Equality),
    column("customer", "c_first", Varchar(16), All, Payload),
    column("customer", "c_middle", Char(2), All, Payload),
    column("customer", "c_last", Varchar(16), All, Equality),
    column("customer", "c_street_1", Varchar(20), All, Payload),
    column("customer", "c_street_2", Varchar(20), All, Payload),
    column("customer", "c_city", Varchar(20), All, Payload),
    column("customer", "c_state", Char(2), All, Payload),
    column("customer", "c_zip", Char(9), All, Payload),
    column("customer", "c_phone", Char(16), All, Payload),
    column("customer", "c_since", Timestamp, Half, Payload),
    column("customer", "c_credit", Char(2), All, Payload),
    column("customer", "c_credit_lim", Decimal(12, 2), Half, Payload),
    column("customer", "c_discount", Decimal(4, 4), Half, Payload),
    column("customer", "c_balance", Decimal(12, 2), Half, Arithmetic),
    column("customer", "c_ytd_payment", Decimal(12, 2), Half, Arithmetic),
    column("customer", "c_payment_cnt", Integer, Half, Arithmetic),
    column("customer", "c_delivery_cnt", Integer, Half, Arithmetic),
    column("customer", "c_data", Varchar(500), All, Payload),
    column("history", "h_c_id", Integer, Half, Payload),
    column("history", "h_c_d_id", Integer, All, Payload),
    column("history", "h_c_w_id", Integer, All, Payload),
    column("history", "h_d_id", Integer, All, Payload),
    column("history", "h_w_id", Integer, All, Payload),
    column("history", "h_date", Timestamp, Half, Payload),
    column("history", "h_amount", Decimal(6, 2), Half, Payload),
    column("history", "h_data", Varchar(24), All, Payload),
    column("new_order", "no_o_id", Integer, Keys, Order),
    column("new_order", "no_d_id", Integer, Keys, Equality),
    column("new_order", "no_w_id", Integer, Keys, Equality),
    column("oorder", "o_id", Integer, Keys, Order),
    column("oorder", "o_d_id", Integer, Keys, Equality),
    column("oorder", "o_w_id", Integer, Keys, Equality),
    column("oorder", "o_c_id", Integer, Half, Equality),
    column("oorder", "o_entry_d", Timestamp, Half, Payload),
    column("oorder", "o_carrier_id", Integer, All, Payload).nullable(),
    column("oorder", "o_ol_cnt", Integer, Half, Payload),
    column("oorder", "o_all_local", Integer, All, Payload),
    column("order_line", "ol_o_id", Integer, Keys, Order),
    column("order_line", "ol_d_id", Integer, Keys, Equality),
    column("order_line", "ol_w_id", Integer, Keys, Equality),
    column("order_line", "ol_number", Integer, Keys, Equality),
    column("order_line", "ol_i_id", Integer, Half, Equality),
    column("order_line", "ol_supply_w_id", Integer, All, Payload),
    column("order_line", "ol_delivery_d", Timestamp, Half, Payload).nullable(),
    column("order_line", "ol_quantity", Integer, Half, Payload),
    column("order_line", "ol_amount", Decimal(6, 2), Half, Arithmetic),
    column("order_line", "ol_dist_info", Char(24), All, Payload),
    column("item", "i_id", Integer, Keys, Equality),
    column("item", "i_im_id", Integer, All, Payload),
    column("item", "i_name", Varchar(24), All, Payload),
    column("item", "i_price", Decimal(5, 2), Half, Payload),
    column("item", "i_data", Varchar(50), All, Payload),
    column("stock", "s_i_id", Integer, Keys, Equality),
    column("stock", "s_w_id", Integer, Keys, Equality),
    column("stock", "s_quantity", Integer, Half, Order),
    column("stock", "s_dist_01", Char(24), All, Payload),
    column("stock", "s_dist_02", Char(24), All, Payload),
    column("stock", "s_dist_03", Char(24), All, Payload),
    column("stock", "s_dist_04", Char(24), All, Payload),
    column("stock", "s_dist_05", Char(24), All, Payload),
    column("stock", "s_dist_06", Char(24), All, Payload),
    column("stock", "s_dist_07", Char(24), All, Payload),
    column("stock", "s_dist_08", Char(24), All, Payload),
    column("stock", "s_dist_09", Char(24), All, Payload),
    column("stock", "s_dist_10", Char(24), All, Payload),
    column("stock", "s_ytd", Integer, Half, Arithmetic),
    column("stock", "s_order_cnt", Integer, Half, Arithmetic),
    column("stock", "s_remote_cnt", Integer, Half, Arithmetic),
    column("stock", "s_data", Varchar(50), All, Payload),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn count(selection: &ColumnSelection) -> usize {
        COLUMNS.iter().filter(|column| column.is_in(selection)).count()
    }

    #[test]
    fn the_shares_are_19_46_and_all_92_columns() {
        assert_eq!(count(&ColumnSelection::None), 0);
        assert_eq!(count(&ColumnSelection::Keys), 19);
        assert_eq!(count(&ColumnSelection::Half), 46);
        assert_eq!(count(&ColumnSelection::All), 92);
    }

    #[test]
    fn every_table_has_as_many_columns_as_the_specification_says() {
        let columns = TABLES.map(|table| COLUMNS.iter().filter(|column| column.table == table).count());
        assert_eq!(columns, [9, 11, 21, 8, 3, 8, 10, 5, 17]);
    }

    #[test]
    fn a_column_is_named_with_its_table() {
        let named = |name: &str| count(&ColumnSelection::Named(vec![name.to_owned()]));
        assert_eq!(named("customer.c_last"), 1);
        for name in [
            "c_last",
            "customer.",
            "customer.c_las",
            "customerc_last",
            "customer_1.c_last",
            "stock.c_last",
        ] {
            assert_eq!(named(name), 0, "{name}");
        }
    }

    #[test]
    fn the_server_orders_four_columns_and_computes_with_eleven() {
        let used = |used: StoredUse| {
            let columns = COLUMNS.iter().filter(move |column| column.stored_use == used);
            columns.map(|column| column.column).collect::<Vec<_>>()
        };
        let found = used(StoredUse::Order);
        assert_eq!(found, ["no_o_id", "o_id", "ol_o_id", "s_quantity"]);
        assert_eq!(used(StoredUse::Arithmetic).len(), 11);
        let of_keys = COLUMNS.iter().filter(|column| column.share == ColumnShare::Keys);
        assert!(
            of_keys
                .clone()
                .all(|column| column.stored_use != StoredUse::Payload)
        );
        assert_eq!(
            of_keys
                .filter(|column| column.stored_use == StoredUse::Order)
                .count(),
            3
        );
    }

    #[test]
    fn two_columns_may_be_null() {
        let nullable = COLUMNS.iter().filter(|column| column.nullable);
        let names: Vec<&str> = nullable.map(|column| column.column).collect();
        assert_eq!(names, ["o_carrier_id", "ol_delivery_d"]);
    }
}
