# The README's commands. Each installs what it needs (scripts/setup.sh says what) and touches no system service.

CARGO ?= cargo
BIN := target/release/ciphertax

.PHONY: help demo build mpi test lint unit bench slow studies servers deny package

help: ## Show these targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

demo: ## Build, and say what TLS costs on a private MariaDB, in about three minutes after the build
	./scripts/setup.sh demo
	$(CARGO) build --release --locked -p ciphertax
	$(BIN) quick

build: ## Build the ciphertax command
	./scripts/setup.sh build
	$(CARGO) build --release --locked -p ciphertax

mpi: build ## Build ciphertax-mpi too, for load from many machines: see docs/many-machines.md
	./scripts/setup.sh mpi
	$(CARGO) build --release --locked --manifest-path crates/ranks/Cargo.toml --target-dir target/mpi
	install -m 755 target/mpi/release/ciphertax-mpi target/release/

test: ## All tests: unit, property, and end to end against the real servers of the catalogue (200 MB that are kept, 14 GB of disk)
	./scripts/setup.sh test
	$(MAKE) lint
	$(MAKE) unit

lint:
	./scripts/lines.pl
	$(CARGO) fmt --all -- --check
	$(CARGO) fmt --manifest-path crates/ranks/Cargo.toml -- --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	! command -v mpirun >/dev/null || $(CARGO) clippy --manifest-path crates/ranks/Cargo.toml --target-dir target/mpi --locked -- -D warnings

unit:
	$(CARGO) test --workspace --locked --no-fail-fast

bench: ## Measure ciphertax beside its peers; results go to record/ (about 40 minutes on a quiet machine)
	./scripts/setup.sh bench
	./scripts/bench.sh

slow: ## The tests that take long: runs of plain against plain, whose results go to record/ (about 75 minutes); a report of ten hours
	./scripts/setup.sh test
	$(CARGO) build --release --locked -p ciphertax
	$(CARGO) test --locked -p ciphertax --test end_to_end -- --ignored the_report_of_ten_hours
	$(CARGO) test --locked -p ciphertax --test end_to_end -- --ignored a_server_that_waits_for_its_flushes
	./scripts/false-alarms.sh
	./scripts/false-alarms-at-rest.sh
	./scripts/delayed-flush.sh
	./scripts/cost-per-page.sh
	./scripts/encjdbc.sh

studies: ## Play the built-in studies; their reports go to record/studies/ (about 65 minutes, root)
	./scripts/setup.sh test
	./scripts/studies.sh

servers: ## Fetch every server of the catalogue and hold each to what it says it can do
	./scripts/setup.sh test
	$(CARGO) test --locked -p ciphertax-lab --test catalogue --test mongodb_catalogue --test install

package: ## A Debian package and a tarball, tried on new root file systems of Debian 12 and 13; they stay in dist/ (about 20 minutes)
	./scripts/setup.sh package
	./scripts/package.sh

deny: ## Licences, sources and duplicates of all dependencies
	command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check licenses bans sources
	$(CARGO) deny --manifest-path crates/ranks/Cargo.toml check --config deny.toml licenses bans sources
