//! Who tells the CPU time of a server that runs on another machine.

use ciphertax_model::{AgentAddress, CounterCommand, CpuCounter, Study};
use clap::Args;

use crate::measuring::option;

/// What all commands that measure take to know the CPU time of a server on another machine.
#[derive(Debug, Args)]
pub(crate) struct ServerCpuArguments {
    /// Read your server's CPU on its own machine: ssh://user@host[:port][/path/of/ciphertax]
    ///
    /// The same release of ciphertax must be there, in the search path or at the path given. Your own ssh starts it, with your keys
    /// and settings, and it ends with the run: it opens no port and writes nothing. It needs no root as the server's user, or with
    /// two capabilities (`setcap cap_sys_ptrace,cap_dac_read_search+ep ciphertax`). While it is gone, slices are void and the run goes on.
    ///
    /// Example: ciphertax quick mysql://app@db.example/ --server-agent ssh://mysql@db.example
    #[arg(long, value_name = "URL", conflicts_with_all = ["server_cpu_command", "server_cpu_exporter"])]
    pub(crate) server_agent: Option<String>,
    /// Have the load generator on this host read your server's CPU instead of making load, where mpirun starts one there
    ///
    /// As --server-agent rank://HOST. It reads as an agent that ssh starts does, and needs no ssh.
    ///
    /// Example: mpirun -np 5 --host c1,c2,c3,c4,db ciphertax-mpi quick mysql://app@db/ --agent-rank db
    #[arg(long, value_name = "HOST", conflicts_with_all = ["server_agent", "server_cpu_command", "server_cpu_exporter"])]
    pub(crate) agent_rank: Option<String>,
    /// A program that prints how much CPU time your server has used so far, in seconds, where nobody can log in
    ///
    /// No shell reads it, only its words are told apart; a shell can be asked for: --server-cpu-command "sh -c '… | …'". Before
    /// measuring it is found out how far the number lags behind, and slices are made twice as long at least.
    ///
    /// Its arguments are in no record and no report. Others on this machine may see them while it runs: a key belongs into a file or
    /// an environment variable that the program reads itself.
    #[arg(long, value_name = "COMMAND", conflicts_with = "server_cpu_exporter")]
    pub(crate) server_cpu_command: Option<String>,
    /// Metrics for Prometheus that tell your server's CPU: http://host:9256/metrics#GROUP or http://host:9100/metrics
    ///
    /// The first is a process exporter's, of which one group of processes counts; the second a node exporter's, which tells what all
    /// of the machine uses. A login for them belongs into ~/.netrc.
    #[arg(long, value_name = "URL")]
    pub(crate) server_cpu_exporter: Option<String>,
}

impl ServerCpuArguments {
    /// The study with what is said here, and what it says itself where nothing is.
    ///
    /// # Errors
    /// If a command's quotes do not match.
    pub(crate) fn apply(&self, study: &mut Study) -> Result<(), String> {
        let rank = self.agent_rank.clone().map(AgentAddress::Rank);
        let rank = rank.map(|address| address.to_string());
        if let Some(agent) = self.server_agent.clone().or(rank) {
            (study.agent, study.server_cpu) = (Some(agent), None);
        }
        let command = self.command()?;
        if command.is_some() || self.server_cpu_exporter.is_some() {
            study.agent = None;
            study.server_cpu = Some(CpuCounter {
                command: command.unwrap_or_default(),
                exporter: self.server_cpu_exporter.clone(),
                resolution_s: None,
            });
        }
        Ok(())
    }

    /// The words of the command that tells the CPU time.
    ///
    /// # Errors
    /// If its quotes do not match.
    pub(crate) fn command(&self) -> Result<Option<CounterCommand>, String> {
        let Some(command) = &self.server_cpu_command else {
            return Ok(None);
        };
        let words = shlex::split(command).filter(|words| !words.is_empty());
        // It may hold a key, and so is not shown.
        let words = words.ok_or("--server-cpu-command is no command, or its quotes do not match")?;
        Ok(Some(CounterCommand::new(words)))
    }

    /// The words that say the same, but for what may hold a key.
    pub(crate) fn words(&self) -> impl Iterator<Item = String> {
        option("--server-agent", self.server_agent.as_ref())
            .chain(option("--agent-rank", self.agent_rank.as_ref()))
            .chain(option("--server-cpu-command", self.command().ok().flatten()))
            .chain(option("--server-cpu-exporter", self.server_cpu_exporter.as_ref()))
    }
}
