//! The names that most tests of this program use.

pub(crate) use std::collections::BTreeSet;
pub(crate) use std::fs::{File, Permissions};
pub(crate) use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
pub(crate) use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
pub(crate) use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
pub(crate) use std::os::unix::process::CommandExt;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::{Child, ChildStdin, Command, Stdio};
pub(crate) use std::sync::Arc;
pub(crate) use std::time::{Duration, Instant};
pub(crate) use std::{fs, thread};

pub(crate) use ciphertax_base::SessionFacts;
pub(crate) use ciphertax_lab::catalogue::{
    Entry, MARIADB, MARIADB_10_2, MONGODB, MYSQL, MYSQL_5_6, POSTGRESQL, POSTGRESQL_18,
};
pub(crate) use ciphertax_lab::page_cache::cached;
pub(crate) use ciphertax_lab::tunnel::RunningTunnel;
pub(crate) use ciphertax_lab::{
    Account, Error, PrivateServer, PrivateServerBuilder, ProofError, RunningLink, disk_proof, file_system,
    pooler, postgresql, tunnel,
};
pub(crate) use ciphertax_model::AtRestPart::{RedoLog, SystemTables, Tables};
pub(crate) use ciphertax_model::{
    AtRest, AtRestPart, AuthenticationMethod, CertificateKind, Distances, FileSystem, FlushMethod, Link,
    PoolMode, Pooler, PoolerProgram, ReplicaSet, Storage, TlsVersion, Transport, Tunnel,
};
pub(crate) use ciphertax_records::Readability;
pub(crate) use ciphertax_supervise::GuardProgram;
pub(crate) use ciphertax_supervise::namespace::mounts_below;
pub(crate) use ciphertax_testkit::{
    PATIENCE, contains, fetched, files_with, is_root, not_tested, plain, processes_with, run, says, within,
};
pub(crate) use ciphertax_wire::WireError;
pub(crate) use ciphertax_wire::mongodb::Login;
pub(crate) use ciphertax_wire::mongodb::bson::{RawDocumentBuf, rawdoc};
pub(crate) use ciphertax_wire::postgresql::Method;
pub(crate) use ciphertax_wire::tls::{ClientCertificate, TlsConnector, TlsPolicy, Verification};
pub(crate) use rustix::process::{Pid, Signal, kill_process, kill_process_group};
pub(crate) use tempfile::TempDir;
