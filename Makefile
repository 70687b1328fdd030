# The README's commands. Each installs what it needs (scripts/setup.sh says what) and touches no system service.

CARGO ?= cargo
BIN := target/release/ciphertax

# Tests wait for servers more than they compute.
export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(nproc))))
# Programs of tests that start no server.
CHECKS := checks memory sqlite_memory_security process_cpu process_tree run_queue

.PHONY: help demo build mpi check test test-all long lint bench studies deny package site

help: ## Show these targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/'

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

check: ## Format, lints and what needs no server, no root and no network
	$(MAKE) lint
	$(CARGO) test --workspace --exclude ciphertax-judges --locked --no-fail-fast --lib --bins $(CHECKS:%=--test %) -- \
		--skip real_servers:: --skip test_all::

test: ## check, and every behaviour once on a real server of each family
	./scripts/setup.sh test
	$(MAKE) lint
	$(CARGO) build --workspace --locked --examples
	$(CARGO) test --workspace --locked --no-fail-fast --lib --bins --tests -- --skip test_all::

test-all: ## The rest: every server of the catalogue, clusters, distances, MPI, other judges, bench/
	./scripts/setup.sh test-all
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy -p ciphertax-columns -p ciphertax-runner --test '*' --locked -- -D warnings
	$(CARGO) clippy --manifest-path crates/ranks/Cargo.toml --target-dir target/mpi --locked -- -D warnings
	$(CARGO) clippy --manifest-path bench/Cargo.toml --target-dir target/bench --all-targets --locked -- -D warnings
	$(CARGO) test --manifest-path bench/Cargo.toml --target-dir target/bench --locked
	$(CARGO) build --locked --manifest-path crates/ranks/Cargo.toml --target-dir target/mpi
	$(CARGO) build --workspace --locked --examples
	install -m 755 target/mpi/debug/ciphertax-mpi target/debug/
	$(CARGO) test --workspace --locked --no-fail-fast --lib --bins --tests -- test_all::
	$(CARGO) test --locked -p ciphertax-columns --test encjdbc -- --ignored
	cache="$${XDG_CACHE_HOME:-$$HOME/.cache}/ciphertax" && CIPHERTAX_PYMONGOCRYPT=python3 \
		PYTHONPATH="$$cache/pymongocrypt-1.14.1:$$cache/pymongo-4.10.1" $(CARGO) test --locked -p ciphertax-columns --test checks -- --ignored libmongocrypt

lint:
	./scripts/lines.pl
	$(CARGO) fmt --all -- --check
	$(CARGO) fmt --manifest-path crates/ranks/Cargo.toml -- --check
	$(CARGO) fmt --manifest-path bench/Cargo.toml -- --check
	$(CARGO) clippy --workspace --locked -- -D warnings

bench: ## Measure ciphertax itself, beside its peers; results go to record/ (about 75 minutes on a quiet machine)
	./scripts/setup.sh bench
	./scripts/bench.sh

long: ## What takes hours: runs of plain against plain, whose results go to record/; a report of ten hours
	./scripts/setup.sh test-all
	$(CARGO) build --release --locked -p ciphertax
	$(CARGO) test --locked -p ciphertax --test end_to_end -- --ignored the_report_of_ten_hours
	$(CARGO) test --locked -p ciphertax --test end_to_end -- --ignored a_server_that_waits_for_its_flushes
	./scripts/false-alarms.sh
	./scripts/false-alarms-at-rest.sh
	./scripts/tomorrow.sh > record/.tomorrow.new && mv record/.tomorrow.new record/tomorrow.md
	./scripts/delayed-flush.sh
	./scripts/cost-per-page.sh
	./scripts/encjdbc.sh
	./scripts/why-bars.sh

studies: ## Play the built-in studies; their reports go to record/studies/ (about 65 minutes, root)
	./scripts/setup.sh test-all
	./scripts/studies.sh

package: ## A Debian package and a tarball, tried on new root file systems of Debian 12 and 13; they stay in dist/ (about 20 minutes)
	./scripts/setup.sh package
	./scripts/package.sh

site: ## The documents as a searchable site in target/site, without network once mdBook is there
	./scripts/setup.sh site
	./scripts/site.sh

deny: ## Licences, sources and duplicates of all dependencies
	command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check licenses bans sources
	$(CARGO) deny --manifest-path crates/ranks/Cargo.toml check --config deny.toml licenses bans sources
	$(CARGO) deny --manifest-path bench/Cargo.toml check --config deny.toml licenses bans sources
