#!/usr/bin/env bash
# What TLS costs a server of your own, with load from four nodes under Slurm:
#   CIPHERTAX_PASSWORD=… sbatch --export=ALL deploy/slurm.sh mysql-tls-versions mysql://app@db.example/
# Slurm starts one load generator a task and binds each to its CPU; the report says to which. The password stays in the environment,
# which --export=ALL hands on. The run folder lies where the job was submitted, which all nodes must see if the study is a file.
#SBATCH --job-name=ciphertax
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=4
#SBATCH --time=00:15:00
set -euo pipefail
# Slurm must know the MPI that ciphertax-mpi was built with: `srun --mpi=list` says which it knows.
exec srun --mpi=pmix --cpu-bind=cores ciphertax-mpi run "$@"
