//! Columns whose cells are encrypted outside the server's storage: by the server in its results, or by the client in what it stores.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which cells are encrypted, by whom and how.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnEncryption {
    /// Who encrypts, and so who can read what.
    pub feature: ColumnFeature,
    /// How a cell is laid out.
    #[serde(default)]
    pub format: CellFormat,
    /// The cipher of a cell; for the format `encdb` alone, the others have one.
    #[serde(default)]
    pub algorithm: CellAlgorithm,
    /// Whether equal values have equal cells.
    #[serde(default)]
    pub mode: CellMode,
    /// How a cell travels and lies in a table.
    #[serde(default)]
    pub encoding: CellEncoding,
    /// Which columns.
    pub columns: ColumnSelection,
    /// Which cells of a result the client decrypts.
    #[serde(default)]
    pub decrypt: Decrypt,
}

/// Two features that vendors call by the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ColumnFeature {
    /// Tables are plain; the server encrypts cells of results, and the client decrypts them (PolarDB-X, RDS).
    InResults,
    /// The client encrypts what it stores and decrypts what it reads; the server sees neither (MongoDB CSFLE, Always Encrypted).
    Stored,
}

/// How a cell is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CellFormat {
    /// PolarDB-X's EncDB, version 64.
    #[default]
    Encdb,
    /// MongoDB's client-side field level encryption: BSON binary of subtype 6.
    Csfle,
    /// The layout of SQL Server's Always Encrypted: AES-256-CBC, HMAC-SHA-256.
    AeadCbcHmac,
}

/// The cipher of a cell of EncDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CellAlgorithm {
    /// SM4-GCM.
    #[default]
    Sm4Gcm,
    /// SM4-CBC.
    Sm4Cbc,
    /// SM4-ECB.
    Sm4Ecb,
    /// AES-128-GCM.
    Aes128Gcm,
    /// AES-128-CBC.
    Aes128Cbc,
    /// AES-128-ECB.
    Aes128Ecb,
    /// None: the plaintext in a cell of the same length as that of a GCM, with a constant vector and tag. It protects nothing, and
    /// shows what a cell costs without its cipher.
    Wrapped,
}

/// Whether equal values have equal cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CellMode {
    /// Never: each has a random vector.
    #[default]
    Random,
    /// Always, under the same key: they can be compared for equality.
    Deterministic,
}

/// How a cell travels and lies in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CellEncoding {
    /// As text.
    #[default]
    Base64,
    /// As bytes.
    Binary,
}

/// Which columns are encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColumnSelection {
    /// None: the client is ready to decrypt, and finds nothing.
    None,
    /// TPC-C: the columns of primary keys, a fifth of all.
    Keys,
    /// TPC-C: half of all columns.
    Half,
    /// All columns; of YCSB's table all fields.
    All,
    /// TPC-C, stored: all columns that the server only keeps.
    Payload,
    /// Those of these names, such as `customer.c_last` or `field0`.
    #[serde(untagged)]
    Named(Vec<String>),
}

/// Which cells of a result the client decrypts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Decrypt {
    /// All as they arrive, as drivers do.
    #[default]
    All,
    /// Those that the workload reads.
    Read,
}

impl ColumnEncryption {
    /// True if the client stores cells.
    pub fn stores(&self) -> bool {
        self.feature == ColumnFeature::Stored && self.columns != ColumnSelection::None
    }

    /// True if cells are hidden from whoever has no key.
    pub fn protects(&self) -> bool {
        self.algorithm != CellAlgorithm::Wrapped && self.columns != ColumnSelection::None
    }

    /// What its cells tell whoever has no key, beyond how long values are and, where that is asked for, which of them are equal;
    /// `None` where that is nothing.
    pub fn leaks(&self) -> Option<&'static str> {
        match (self.format, self.algorithm, self.mode) {
            _ if self.columns == ColumnSelection::None => None,
            (CellFormat::Csfle | CellFormat::AeadCbcHmac, _, _) => None,
            (CellFormat::Encdb, CellAlgorithm::Wrapped, _) => {
                Some("wrapped: the value itself is in its cell")
            }
            (CellFormat::Encdb, CellAlgorithm::Sm4Ecb | CellAlgorithm::Aes128Ecb, _) => {
                Some("ECB: equal blocks of 16 bytes are equal in their cells too")
            }
            (CellFormat::Encdb, _, CellMode::Deterministic) => Some(
                "unkeyed deterministic vectors: a cell carries a hash of its value, so values can be guessed without any key",
            ),
            (CellFormat::Encdb, _, CellMode::Random) => None,
        }
    }
}

/// `sm4_gcm, base64, in results: half of the columns`
impl fmt::Display for ColumnEncryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cipher: &str = match (self.format, self.algorithm) {
            (CellFormat::Encdb, CellAlgorithm::Wrapped) => "wrapped (unprotected)",
            (CellFormat::Encdb, algorithm) => algorithm.into(),
            (format, _) => format.into(),
        };
        let encoding: &str = self.encoding.into();
        let feature = match self.feature {
            ColumnFeature::InResults => "in results",
            ColumnFeature::Stored => "stored",
        };
        let mode = match self.mode {
            CellMode::Random => "",
            CellMode::Deterministic => ", deterministic",
        };
        write!(f, "{cipher}{mode}, {encoding}, {feature}: {}", self.columns)
    }
}

impl fmt::Display for ColumnSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no columns"),
            Self::Keys => f.write_str("key columns"),
            Self::Half => f.write_str("half of the columns"),
            Self::All => f.write_str("all columns"),
            Self::Payload => f.write_str("payload columns"),
            Self::Named(names) => f.write_str(&names.join(", ")),
        }
    }
}
