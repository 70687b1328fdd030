//! The texts of the statements, as [`super::template`] reads them.

pub(super) const BUYER: &str = "SELECT c_discount, c_last, c_credit, w_tax FROM {customer} JOIN {warehouse} ON w_id = c_w_id \
     WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id";
pub(super) const NEXT_ORDER: &str =
    "SELECT d_tax, d_next_o_id FROM {district} WHERE d_w_id = :d_w_id AND d_id = :d_id{for update}";
pub(super) const COUNT_ORDER: &str =
    "UPDATE {district} SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :d_w_id AND d_id = :d_id";
pub(super) const INSERT_ORDER: &str = "INSERT INTO {oorder} (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
     VALUES (:o_id, :o_d_id, :o_w_id, :o_c_id, :o_entry_d, :o_ol_cnt, :o_all_local)";
pub(super) const INSERT_NEW_ORDER: &str =
    "INSERT INTO {new_order} (no_o_id, no_d_id, no_w_id) VALUES (:no_o_id, :no_d_id, :no_w_id)";
pub(super) const ITEMS: &str = "SELECT i_id, i_price, i_name, i_data FROM {item} WHERE i_id IN ([:i_id])";
/// Locked in the order of the primary key, so that no two orders wait for each other.
pub(super) const STOCK: &str = "SELECT s_i_id, s_w_id, s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, \
     s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM {stock} WHERE (s_w_id, s_i_id) IN ({rows}[(:s_w_id, \
     :s_i_id)]) ORDER BY s_w_id, s_i_id{for update}";
pub(super) const UPDATE_STOCK: &str = "UPDATE {stock} SET s_quantity = :s_quantity, s_ytd = s_ytd + :s_ytd, s_order_cnt = \
     s_order_cnt + 1, s_remote_cnt = s_remote_cnt + :s_remote_cnt WHERE s_w_id = :s_w_id AND s_i_id = :s_i_id";
pub(super) const INSERT_LINES: &str = "INSERT INTO {order_line} (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
     ol_quantity, ol_amount, ol_dist_info) VALUES [(:ol_o_id, :ol_d_id, :ol_w_id, :ol_number, :ol_i_id, :ol_supply_w_id, \
     :ol_quantity, :ol_amount, :ol_dist_info)]";

pub(super) const PAY_DISTRICT: &str = "UPDATE {district} SET d_ytd = d_ytd + CAST(:amount AS DECIMAL(12,2)) WHERE d_w_id = \
     :d_w_id AND d_id = :d_id";
pub(super) const DISTRICT: &str = "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM {district} WHERE d_w_id = \
     :d_w_id AND d_id = :d_id";
pub(super) const PAY_WAREHOUSE: &str =
    "UPDATE {warehouse} SET w_ytd = w_ytd + CAST(:amount AS DECIMAL(12,2)) WHERE w_id = :w_id";
pub(super) const WAREHOUSE: &str =
    "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM {warehouse} WHERE w_id = :w_id";
pub(super) const BY_LAST_NAME: &str = "SELECT c_id FROM {customer} WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_last = \
     :c_last ORDER BY c_first";
/// Where first names are cells, the client sorts by them.
pub(super) const BY_LAST_NAME_UNSORTED: &str = "SELECT c_id, c_first FROM {customer} WHERE c_w_id = :c_w_id AND c_d_id = \
     :c_d_id AND c_last = :c_last";
pub(super) const PAYER: &str = "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
     c_since, c_credit, c_credit_lim, c_discount, c_balance FROM {customer} WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND \
     c_id = :c_id{for update}";
pub(super) const PAYER_DATA: &str =
    "SELECT c_data FROM {customer} WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id";
pub(super) const PAY: &str = "UPDATE {customer} SET c_balance = c_balance - CAST(:amount AS DECIMAL(12,2)), c_ytd_payment = \
     c_ytd_payment + CAST(:amount AS DECIMAL(12,2)), c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = :c_w_id AND c_d_id = \
     :c_d_id AND c_id = :c_id";
pub(super) const PAY_WITH_DATA: &str = "UPDATE {customer} SET c_balance = c_balance - CAST(:amount AS DECIMAL(12,2)), \
     c_ytd_payment = c_ytd_payment + CAST(:amount AS DECIMAL(12,2)), c_payment_cnt = c_payment_cnt + 1, c_data = :c_data WHERE \
     c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id";
pub(super) const INSERT_HISTORY: &str = "INSERT INTO {history} (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, \
     h_data) VALUES (:h_c_id, :h_c_d_id, :h_c_w_id, :h_d_id, :h_w_id, :h_date, :h_amount, :h_data)";

pub(super) const INQUIRER: &str = "SELECT c_first, c_middle, c_last, c_balance FROM {customer} WHERE c_w_id = :c_w_id AND \
     c_d_id = :c_d_id AND c_id = :c_id";
pub(super) const LAST_ORDER: &str = "SELECT o_id, o_entry_d, o_carrier_id FROM {oorder} WHERE o_w_id = :o_w_id AND o_d_id = \
     :o_d_id AND o_c_id = :o_c_id ORDER BY o_id DESC LIMIT 1";
pub(super) const LINES: &str = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM {order_line} WHERE \
     ol_w_id = :ol_w_id AND ol_d_id = :ol_d_id AND ol_o_id = :ol_o_id";

pub(super) const OLDEST: &str = "SELECT no_o_id FROM {new_order} WHERE no_w_id = :no_w_id AND no_d_id = :no_d_id ORDER BY \
     no_o_id LIMIT 1{for update}";
pub(super) const DELETE_OLDEST: &str = "DELETE FROM {new_order} WHERE (no_w_id, no_d_id, no_o_id) IN ({rows}[(:no_w_id, \
     :no_d_id, :no_o_id)])";
pub(super) const BUYERS: &str = "SELECT o_d_id, o_c_id FROM {oorder} WHERE (o_w_id, o_d_id, o_id) IN ({rows}[(:o_w_id, :o_d_id, \
     :o_id)])";
pub(super) const CARRY: &str = "UPDATE {oorder} SET o_carrier_id = :o_carrier_id WHERE (o_w_id, o_d_id, o_id) IN \
     ({rows}[(:o_w_id, :o_d_id, :o_id)])";
pub(super) const DELIVER: &str = "UPDATE {order_line} SET ol_delivery_d = :ol_delivery_d WHERE (ol_w_id, ol_d_id, ol_o_id) IN \
     ({rows}[(:ol_w_id, :ol_d_id, :ol_o_id)])";
pub(super) const AMOUNTS: &str = "SELECT ol_d_id, SUM(ol_amount) FROM {order_line} WHERE (ol_w_id, ol_d_id, ol_o_id) IN \
     ({rows}[(:ol_w_id, :ol_d_id, :ol_o_id)]) GROUP BY ol_d_id";
pub(super) const BILL: &str = "UPDATE {customer} SET c_balance = c_balance + CAST(:amount AS DECIMAL(12,2)), c_delivery_cnt = \
     c_delivery_cnt + 1 WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id";

pub(super) const LOW_STOCK: &str = "SELECT COUNT(DISTINCT s_i_id) FROM {district} JOIN {order_line} ON ol_w_id = d_w_id AND \
     ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id JOIN {stock} ON s_w_id = d_w_id AND s_i_id = \
     ol_i_id WHERE d_w_id = :d_w_id AND d_id = :d_id AND s_quantity < :s_quantity";
