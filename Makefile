# The one task runner. `make live` and `make test` install what is missing, then do what they say.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup setup-build announce-build announce-live wirelap build live test dist try-dist truth faults false-alarms soak bench cost footprint fuzz fmt lint deny kernels wiresharks screenshot dissectors

export PATH := $(HOME)/.cargo/bin:$(PATH)
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/wirelap/target
TOOLS := $(CARGO_TARGET_DIR)/tools

# Empty when already root, so that no sudo is needed there.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo -E)
LIVE ?= tcp,udp,mqtt,kafka,zenoh-p2p,zenoh-brokered,dds,zeromq,opcua
# Where the sizes of client programs are written, and of which features; all if there are none.
FOOTPRINT ?= $(CARGO_TARGET_DIR)/client-sizes.json
FOOTPRINT_FEATURES ?=
# Seconds for each fuzz target.
FUZZ_SECONDS ?= 60

# Rounds of the ping-pong that shows what tracing costs.
COST_ROUNDS ?= 25

# Pairs of runs without a difference, and what each run measures.
PAIRS ?= 20
ALARM_RUN ?= latency --on tcp,mqtt --messages 1000 --warmup 200 --repeat 6 --measure-cost=false

# Kernels that the probes are tried on: names of lines in this table. The file that gets the matrix, if any.
KERNELS ?= $(shell sed -n 's/^\([^ \#]\+\) .*/\1/p' .ci/kernels/table)
KERNELS_TABLE ?=
# Debian's suites whose Wireshark the dissectors are tried on, beside this machine's.
WIRESHARKS ?= trixie sid

# Where what is handed out is put, and the Debian suites that it is tried on.
DIST ?= $(CARGO_TARGET_DIR)/dist
SUITES ?= bookworm trixie

# Every cargo call takes the same packages and features: with others, features of shared libraries
# differ and half the tree is compiled again.
WORKSPACE := --workspace --features wirelap-capture/privileged,wirelap/privileged,wirelap/parquet,wirelap-protocols/e2e
TRIPLE = $(shell rustc -vV | sed -n 's/^host: //p' | tr a-z- A-Z_)
# Folders whose files import each other in no circle.
UNCIRCULAR := $(foreach crate,events recording process tls capture protocols correlate report compare history page parquet session replay experiment cli,tracer/$(crate)/src) tui/src \
	tracer/support/src tracer/support/pipeline/src $(wildcard workloads/src workloads/*/src)
PROBES := $(filter-out %/vmlinux.h,$(wildcard ebpf/probes/*.c ebpf/include/*.h))

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

setup-build:
	@.ci/setup build

setup: ## install what building and testing need (apt)
	@.ci/setup build test

wirelap: ## compile wirelap alone, in three minutes: doctor, live, record, analyze
	@.ci/setup wirelap
	@test -e "$(CARGO_TARGET_DIR)/debug/wirelap" || echo "The first build takes about three minutes on two cores."
	cargo build --package wirelap
	@echo "Built $(CARGO_TARGET_DIR)/debug/wirelap. Next: $(SUDO) $(CARGO_TARGET_DIR)/debug/wirelap live"

announce-build:
	@test -e "$(CARGO_TARGET_DIR)/debug/wirelap-workload" || echo "The first build compiles the libraries of all middlewares: nine to 21" \
		"minutes on two cores. (make wirelap: the tracer without workloads, three minutes.)"

build: announce-build setup-build ## compile wirelap and the workloads
	cargo build $(WORKSPACE) --bins

announce-live:
	@echo "This builds wirelap, then runs $(LIVE) on this machine and compares them on the screen, until you press q."

live: announce-live build ## compare the middlewares on this machine: LIVE=tcp,mqtt,…
	$(SUDO) "$(CARGO_TARGET_DIR)/debug/wirelap" live --on $(LIVE)

# Compiled as the user, run as root: probes can be attached only by root.
test: setup build ## all tests, those that attach probes included
	$(SUDO) "$(CARGO_TARGET_DIR)/debug/wirelap-workload" fetch kafka
	$(if $(SUDO),CARGO_TARGET_$(TRIPLE)_RUNNER="$(SUDO)") cargo test $(WORKSPACE) --no-fail-fast --lib --bins --tests

truth: setup build ## every situation of the truth lab, and the table of what was said: TRUTH_ONLY=mqtt,loss TRUTH_CELLS='first, quiet;late, loaded' TRUTH_TABLE=FILE TRUTH_REPORTS=FOLDER
	$(SUDO) "$(CARGO_TARGET_DIR)/debug/wirelap-workload" fetch kafka
	$(if $(SUDO),CARGO_TARGET_$(TRIPLE)_RUNNER="$(SUDO)") cargo test $(WORKSPACE) --test truth -- --ignored --nocapture

faults: setup build ## what is killed, stopped, full, gone: in every phase
	$(SUDO) "$(CARGO_TARGET_DIR)/debug/wirelap-workload" fetch kafka
	$(if $(SUDO),CARGO_TARGET_$(TRIPLE)_RUNNER="$(SUDO)") cargo test $(WORKSPACE) --test e2e --no-fail-fast -- --include-ignored \
		faults:: failures:: limits:: rights:: terminal::

false-alarms: setup build ## how often `wirelap compare` finds a difference between two equal runs: PAIRS=20 ALARM_RUN='latency --on tcp,mqtt …'
	$(SUDO) .ci/false-alarms $(PAIRS) "$(CARGO_TARGET_DIR)/debug/wirelap" $(ALARM_RUN)

soak: setup build ## two hours of traffic: memory, latency and counts stay (WIRELAP_SOAK_SECONDS)
	$(if $(SUDO),CARGO_TARGET_$(TRIPLE)_RUNNER="$(SUDO)") cargo test $(WORKSPACE) --test e2e -- --ignored --nocapture soak::

bench: setup build ## benchmarks of the decoders and the pipeline
	cargo bench $(WORKSPACE) --profile dev --bench '*'

cost: setup ## what tracing costs a ping-pong, by program, and beside tcpdump: COST_ROUNDS=25
	cargo build -p wirelap-capture --example cost
	$(SUDO) chrt -f 10 "$(CARGO_TARGET_DIR)/debug/examples/cost" --rounds $(COST_ROUNDS)

footprint: setup-build ## sizes of client programs with one middleware each, for `wirelap run --client-sizes`: FOOTPRINT=FILE FOOTPRINT_FEATURES="mqtt nats"
	.ci/footprint "$(FOOTPRINT)" $(FOOTPRINT_FEATURES)

fuzz: setup ## every fuzz target for FUZZ_SECONDS (needs rustup's nightly)
	@.ci/tool cargo-fuzz "$(TOOLS)"
	@for file in $(wildcard */fuzz/fuzz_targets/*.rs */*/fuzz/fuzz_targets/*.rs); do \
		dir=$${file%/fuzz_targets/*}; target=$$(basename "$$file" .rs); \
		echo "== $$dir: $$target"; \
		PATH="$(TOOLS)/bin:$$PATH" cargo +nightly fuzz run --fuzz-dir "$$dir" "$$target" -- \
			-max_total_time=$(FUZZ_SECONDS); \
	done

fmt: ## format Rust and C
	cargo fmt --all
	clang-format -i $(PROBES)

lint: setup-build ## formats, circles of files, clippy
	@.ci/setup lint
	cargo fmt --all --check
	clang-format --dry-run -Werror $(PROBES)
	.ci/circles $(UNCIRCULAR)
	cargo clippy $(WORKSPACE) --all-targets -- -D warnings

# Not `advisories`: their database is a git repository, and a check must not need one to be reachable.
deny: ## licences, sources and bans of all dependencies
	@.ci/tool cargo-deny "$(TOOLS)"
	"$(TOOLS)/bin/cargo-deny" check licenses bans sources

kernels: setup-build ## the probes' tests on other kernels of Debian, in qemu, and the matrix of what came of it: KERNELS="6.1-x86_64 6.12-aarch64" KERNELS_TABLE=FILE
	@.ci/setup kernels $(if $(filter-out %-$(shell uname -m),$(KERNELS)),foreign-kernels)
	KERNELS_TABLE="$(KERNELS_TABLE)" .ci/kernels/all "$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/wirelap/kernels" $(KERNELS) -- $(WORKSPACE)

wiresharks: setup build ## the dissectors' tests with the Wireshark of the Debian suites WIRESHARKS
	@.ci/setup wiresharks
	.ci/wiresharks "$(dir $(CARGO_TARGET_DIR))wiresharks" $(WIRESHARKS) -- sh -c '\
		cargo test $(WORKSPACE) --no-fail-fast --test dissectors --test annotated && \
		cargo test $(WORKSPACE) --no-fail-fast --test e2e -- agreement:: offline::'

dist: ## what is handed out of this commit: static programs, .deb, OCI images, with sums, for both architectures: DIST=FOLDER DIST_WORKLOADS=no
	@.ci/setup wirelap dist
	@[[ "$${DIST_WORKLOADS-}" == no ]] || .ci/setup build foreign-build
	.ci/dist/all "$(DIST)"

try-dist: dist ## install the packages in minimal systems of the Debian suites SUITES and in a virtual ARM64 machine, use them, remove them
	@.ci/setup try-dist kernels foreign-kernels
	$(SUDO) .ci/dist/try "$(DIST)" $(SUITES)
	.ci/dist/try-machine "$(DIST)" "$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/wirelap/kernels"

screenshot: setup build ## draw the pictures of all views anew (docs/screens), from a real run
	.ci/screenshot docs/screens --keys jj -- $(SUDO) "$(CARGO_TARGET_DIR)/debug/wirelap" live --on $(LIVE) --by broker,client
	cp docs/screens/overview.svg docs/screenshot.svg

dissectors: ## install the Wireshark dissectors for this user
	@dissectors/install
