//! Which fields of YCSB's table a selection of columns means.

use crate::columns::ColumnSelection;

impl ColumnSelection {
    /// By field, whether it is encrypted.
    ///
    /// # Errors
    /// Says which name is no field's, or that the selection is one of TPC-C's columns.
    pub fn ycsb_fields(&self, field_count: u16) -> Result<Vec<bool>, String> {
        let each = |is_encrypted| vec![is_encrypted; usize::from(field_count)];
        let names = match self {
            Self::None => return Ok(each(false)),
            Self::All => return Ok(each(true)),
            Self::Named(names) => names,
            Self::Keys | Self::Half | Self::Payload => {
                return Err(format!(
                    "{self} are TPC-C's; of YCSB's table take \"all\", or fields by their names: [\"field0\"]"
                ));
            }
        };
        let mut fields = each(false);
        for name in names {
            let field = (0..fields.len()).find(|field| *name == format!("field{field}"));
            match field {
                Some(field) => fields[field] = true,
                None => {
                    let last = field_count.saturating_sub(1);
                    return Err(format!(
                        "{name:?} is no field of YCSB's table, which has field0 to field{last}"
                    ));
                }
            }
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_all_none_or_those_of_these_names() {
        let named = |names: &[&str]| ColumnSelection::Named(names.iter().map(|&name| name.into()).collect());
        for (selection, expected) in [
            (ColumnSelection::All, Ok(vec![true; 3])),
            (ColumnSelection::None, Ok(vec![false; 3])),
            (named(&["field2", "field0"]), Ok(vec![true, false, true])),
            (named(&["field3"]), Err("\"field3\" is no field")),
            (named(&["FIELD0"]), Err("\"FIELD0\" is no field")),
            (named(&["field00"]), Err("\"field00\" is no field")),
            (named(&["customer.c_last"]), Err("is no field")),
            (ColumnSelection::Half, Err("half of the columns are TPC-C's")),
        ] {
            match (selection.ycsb_fields(3), expected) {
                (Ok(fields), Ok(expected)) => assert_eq!(fields, expected),
                (Err(problem), Err(expected)) => assert!(problem.contains(expected), "{problem}"),
                (found, expected) => panic!("{found:?}, expected {expected:?}"),
            }
        }
    }
}
