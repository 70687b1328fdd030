//! What a probe changes about the server of a group of arms, and that it is as it was afterwards.

use std::sync::Arc;

use ciphertax_base::{Proof, Witness};
use ciphertax_lab::PrivateServer;
use ciphertax_model::{Arm, Perturbation, Probe};
use ciphertax_observe::FewerCpus;
use ciphertax_reactor::stop;

use super::GroupServer;
use crate::database::{Database, Variable, Variables};
use crate::error::{Result, RunError};

/// What a probe has changed, and how it was before.
pub(super) enum Changed {
    /// A global variable of this name.
    Variable { name: String, before: Variable },
    /// On which CPUs its threads run.
    Cpus(FewerCpus),
}

impl<D: Database> GroupServer<D> {
    /// Changes the server as an arm's probe says, and changes it back. The proof is what was read meanwhile; `None` for an arm
    /// without a probe.
    pub(super) fn try_probe(&mut self, arm: &Arm) -> Result<Option<Proof>> {
        let Some(probe) = &arm.probe else { return Ok(None) };
        let tried = match probe.perturbation() {
            Some(Perturbation::Variable(name, _)) => self.refuse_session_value(name),
            _ => Ok(()),
        };
        let tried = tried.and_then(|()| self.change(probe));
        let proof = tried.and_then(|()| self.proof_of_change(probe));
        let changed_back = self.change_back();
        let named = |error| match error {
            RunError::Server { server, problem } => RunError::Server {
                server,
                problem: format!("arm {}: its probe {probe} cannot be tried: {problem}", arm.name),
            },
            error => error,
        };
        proof
            .and_then(|proof| changed_back.map(|()| Some(proof)))
            .map_err(named)
    }

    /// Changes the server as a probe says.
    ///
    /// # Errors
    /// When the server refuses or does not answer; what was changed until then has to be changed back all the same.
    pub(super) fn change(&mut self, probe: &Probe) -> Result<()> {
        match probe.perturbation() {
            None => Ok(()),
            Some(Perturbation::Cpus(count)) => {
                let pids = self.pids();
                let confined = FewerCpus::confine(&pids, count.into());
                let confined = confined.map_err(|error| {
                    self.control
                        .unusable(format!("its threads cannot be confined: {error}"))
                })?;
                self.changed = Some(Changed::Cpus(confined));
                Ok(())
            }
            Some(Perturbation::Variable(name, value)) => {
                let variables = self.variables(name)?;
                let before = (variables.read)(&mut self.control, name)?;
                let name = name.to_owned();
                self.changed = Some(Changed::Variable {
                    name: name.clone(),
                    before,
                });
                (variables.set)(&mut self.control, &name, &value.into())
            }
        }
    }

    /// Changes back what is changed, whoever wants to stop: the next to ask the server must find it as it was.
    pub(super) fn change_back(&mut self) -> Result<()> {
        let Some(changed) = self.changed.take() else {
            return Ok(());
        };
        match changed {
            Changed::Cpus(confined) => {
                let pids = self.pids();
                confined.end(&pids).map_err(|error| {
                    self.control
                        .unusable(format!("its threads stay confined: {error}"))
                })
            }
            Changed::Variable { name, before } => {
                let may_be_cut_off = stop::is_requested();
                let set = self.variables(&name)?.set;
                stop::with_flag(&Arc::default(), || {
                    if !may_be_cut_off && set(&mut self.control, &name, &before).is_ok() {
                        return Ok(());
                    }
                    // The session may be in the middle of an answer that nobody waited for.
                    self.control.reconnect()?;
                    set(&mut self.control, &name, &before)
                })
            }
        }
    }

    /// A variable of which every session has a value of its own is another thing in the connections of a cell, which are open.
    fn refuse_session_value(&mut self, name: &str) -> Result<()> {
        // Before anything else: of a variable that does not exist the server says so.
        let variables = self.variables(name)?;
        (variables.read)(&mut self.control, name)?;
        match (variables.is_per_session)(&mut self.control, name)? {
            false => Ok(()),
            true => Err(self.control.unusable(format!(
                "every session has a {name} of its own, and the connections of a cell would keep theirs; take a variable that is \
                 global alone"
            ))),
        }
    }

    fn proof_of_change(&mut self, probe: &Probe) -> Result<Proof> {
        let claim = format!("{probe} while its slices run");
        Ok(match &self.changed {
            Some(Changed::Variable { name, before }) => {
                let (name, before) = (name.clone(), before.to_string());
                let now = (self.variables(&name)?.read)(&mut self.control, &name)?;
                Proof {
                    witness: Witness::Server,
                    claim,
                    evidence: format!("{name} was {before}, could be set to {now}, and was set back"),
                }
            }
            Some(Changed::Cpus(confined)) => Proof {
                witness: Witness::Kernel,
                claim,
                evidence: format!(
                    "{} threads could be confined to these CPUs, and were set free again",
                    confined.threads()
                ),
            },
            None => Proof {
                witness: Witness::Server,
                claim,
                evidence: "it changes nothing".into(),
            },
        })
    }

    fn variables(&self, name: &str) -> Result<Variables<D>> {
        let refused = || {
            self.control
                .unusable(format!("{name} is no variable that ciphertax sets there"))
        };
        D::VARIABLES.ok_or_else(refused)
    }

    fn pids(&self) -> Vec<u32> {
        let first = self.private_server().map(PrivateServer::pids);
        // Those that they have started to serve connections.
        let meters = self.processes.meters.iter();
        let started = meters.filter_map(|meter| meter.members().ok());
        let mut pids: Vec<u32> = first.into_iter().flatten().chain(started.flatten()).collect();
        pids.dedup();
        pids
    }
}

#[cfg(test)]
mod real_servers;
