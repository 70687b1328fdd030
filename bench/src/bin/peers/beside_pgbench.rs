//! A PostgreSQL that ciphertax and pgbench ask in turns, and proof of what pgbench's sessions are.

use std::fs;
use std::path::PathBuf;

use ciphertax_bench::{Document, Measured, PostgresqlGround, Result};
use ciphertax_model::{Arm, AuthenticationMethod, PasswordCache, TlsLibrary, Transport};
use ciphertax_testkit::peers::{Limit, Pgbench, PgbenchCall, PgbenchScript};

/// Asks the server, through pgbench's own connection, what this connection is, and has it note that.
const WORD: &str = "INSERT INTO public.word SELECT concat_ws(' ', version, cipher) FROM pg_stat_ssl \
    WHERE pid = pg_backend_pid();\n";
/// Asks for nothing, so that there is nothing but connections.
const NOTHING: &str = "\\set nothing 1\n";

/// The server, and pgbench.
pub(crate) struct BesidePgbench {
    pub(crate) ground: PostgresqlGround,
    pub(crate) pgbench: Pgbench,
    /// Files of scripts: what asks for nothing, and what asks what the session is.
    pub(crate) nothing: PathBuf,
    word: PathBuf,
}

impl BesidePgbench {
    /// Starts the server, makes sure that the sessions of pgbench are what
    /// each transport says, and adds what they are.
    pub(crate) fn prepare(document: &mut Document) -> Result<Self> {
        let mut ground = PostgresqlGround::prepare()?;
        let pgbench = Pgbench::find()?;
        document.fact("PostgreSQL", &ground.identity);
        document.fact("pgbench", pgbench.version()?);
        ground.ask("CREATE TABLE public.word (word TEXT)")?;
        let folder = ground.server.folder();
        let mut beside = Self {
            nothing: folder.join("nothing.sql"),
            word: folder.join("word.sql"),
            ground,
            pgbench,
        };
        fs::write(&beside.nothing, NOTHING)?;
        fs::write(&beside.word, WORD)?;
        for transport in [Transport::Plain, Transport::Tls13] {
            let word = beside.servers_word(transport)?;
            document.fact(&format!("{transport}, by PostgreSQL's word"), word);
        }
        Ok(beside)
    }

    /// What the sessions of pgbench are, by the server's word. Those of ciphertax are held to the same one by one.
    fn servers_word(&mut self, transport: Transport) -> Result<String> {
        self.ground.ask("TRUNCATE public.word")?;
        let script = PgbenchScript::File(&self.word);
        let call = self.call(AuthenticationMethod::Trust, transport, script, 1);
        self.pgbench.run(&call, Limit::Transactions(1))?;
        let word = self.ground.ask("SELECT word FROM public.word")?;
        let version = transport.tls_version().map_or("", |version| version.name());
        if !word.starts_with(version) || word.is_empty() == transport.is_encrypted() {
            return Err(format!("{transport}: pgbench has {word:?}").into());
        }
        Ok(match word.as_str() {
            "" => "pgbench in plaintext".to_owned(),
            word => format!("pgbench {word}"),
        })
    }

    /// What pgbench is to do, with two threads where it has several connections.
    pub(crate) fn call<'a>(
        &'a self,
        method: AuthenticationMethod,
        transport: Transport,
        script: PgbenchScript<'a>,
        connections: u32,
    ) -> PgbenchCall<'a> {
        PgbenchCall {
            server: &self.ground.server,
            method,
            transport,
            script,
            connections,
            threads: connections.min(2),
        }
    }

    /// A turn of pgbench of so many seconds.
    pub(crate) fn measure(&self, call: &PgbenchCall<'_>, seconds: u32) -> Result<Measured> {
        let start = self.pgbench.run(call, Limit::Transactions(1))?;
        let run = self.pgbench.run(call, Limit::Seconds(seconds))?;
        Measured::of_peer(&start, &run)
    }
}

/// An arm of ciphertax that logs in by this method, with keys of SCRAM that are derived each time or kept.
pub(crate) fn arm(
    transport: Transport,
    library: TlsLibrary,
    method: AuthenticationMethod,
    password_cache: PasswordCache,
) -> Arm {
    let mut arm = Arm::new("ciphertax", transport);
    arm.tls.library = library;
    arm.authentication.method = Some(method);
    arm.authentication.password_cache = password_cache;
    arm
}
