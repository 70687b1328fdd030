//! What `make test-all` runs: every server of the catalogue, clusters and distances.

mod catalogue;
mod clusters;
mod install;
mod mongodb_at_a_distance;
mod mongodb_catalogue;
mod servers_on_file_systems;
