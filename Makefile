# The one task runner. `make live` and `make test` install what is missing, then do what they say.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup setup-build announce-build announce-live announce-test wirelap fleet build build-tests build-live live test test-quick unit timings dist try-dist truth implementations faults false-alarms soak bench cost footprint fuzz fmt lint deny setup-kernels kernels hosts wiresharks screenshot dissectors

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/wirelap
export PATH := $(CACHE)/tools/bin:$(HOME)/.cargo/bin:$(PATH)
export CARGO_TARGET_DIR ?= $(CACHE)/target
TOOLS := $(CARGO_TARGET_DIR)/tools

# Empty when already root, so that no sudo is needed there.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo -E)
# What `make live` compares: middlewares, or `all`. Only what these need is compiled.
LIVE ?= tcp,udp,mqtt,zenoh-p2p,zenoh-brokered,dds
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
# Rows of the table of implementations: names of implementations or protocols, all if there are none. Where its JSON and the captures of rows that
# are not right are written, and the wirelap that is tried.
IMPLEMENTATIONS ?=
IMPLEMENTATIONS_TABLE ?= docs/results/implementations.json
IMPLEMENTATIONS_KEEP ?= $(CARGO_TARGET_DIR)/implementations
WIRELAP ?= $(CARGO_TARGET_DIR)/debug/wirelap
# Debian's suites whose Wireshark the dissectors are tried on, beside this machine's.
WIRESHARKS ?= trixie sid

# Where what is handed out is put, and the Debian suites that it is tried on.
DIST ?= $(CARGO_TARGET_DIR)/dist
SUITES ?= bookworm trixie

# Every cargo call takes the same packages and features: with others, features of shared libraries
# differ and half the tree is compiled again.
WORKSPACE := --workspace --features wirelap-capture/privileged,wirelap/privileged,wirelap/parquet,wirelap/otlp,wirelap/native-histograms,wirelap-fleet/privileged,wirelap-protocols/e2e
# The features of `wirelap-workload` for the middlewares of LIVE. `make live` takes them unless everything is asked for, or is built already.
comma := ,
NAMES := $(subst $(comma), ,$(LIVE))
FEATURES := baselines pico xrce $(filter amqp dds kafka nats zeromq zeromq-rust,$(NAMES)) \
	$(if $(filter mqtt,$(NAMES)),mqtt-rumqttd) $(if $(filter zenoh-p2p zenoh-brokered,$(NAMES)),zenoh) $(if $(filter opcua%,$(NAMES)),opcua)
EVERYTHING := $(CARGO_TARGET_DIR)/everything
IS_WHOLE := $(or $(filter all,$(NAMES)),$(wildcard $(EVERYTHING)))
HOST_TRIPLE = $(shell rustc -vV | sed -n 's/^host: //p')
TRIPLE = $(shell echo $(HOST_TRIPLE) | tr a-z- A-Z_)
# Each test by itself: `.config/nextest.toml`. Tests that start programs mostly wait for them, and others keep the processors busy meanwhile.
TEST_THREADS ?= $(shell echo $$((2 * $$(nproc))))
NEXTEST = CARGO_TARGET_$(TRIPLE)_RUNNER="$(CURDIR)/.ci/test-runner" cargo nextest run $(WORKSPACE) --lib --bins --tests --test-threads $(TEST_THREADS)
# Folders whose files import each other in no circle.
UNCIRCULAR := $(foreach crate,events recording process tls capture protocols limits containers figures flow why correlate report compare history page parquet metrics otlp hosts fleet session replay experiment cli,tracer/$(crate)/src) tui/src \
	tracer/support/src tracer/support/pipeline/src $(wildcard workloads/src workloads/*/src)
# Modules that a macro declares, which `cargo fmt` does not find by itself.
VERDICTS := $(wildcard $(addprefix tracer/,$(addsuffix .rs,why/src/verdicts/* why/src/verdicts/*/mod report/src/words/verdicts/*)))
PROBES := $(filter-out %/vmlinux.h,$(wildcard ebpf/probes/*.c ebpf/include/*.h))

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

setup-build:
	@.ci/setup build

setup: ## install what building and testing need (apt)
	@.ci/setup build tools test

wirelap: ## compile wirelap alone, in three minutes: doctor, live, record, analyze
	@.ci/setup wirelap
	@test -e "$(CARGO_TARGET_DIR)/debug/wirelap" || echo "The first build takes about three minutes on two cores."
	cargo build --package wirelap
	@echo "Built $(CARGO_TARGET_DIR)/debug/wirelap. Next: $(SUDO) $(CARGO_TARGET_DIR)/debug/wirelap live"

fleet: ## compile wirelap and wirelap-fleet, for fleets over Zenoh
	@.ci/setup wirelap
	cargo build --package wirelap --package wirelap-fleet

announce-build:
	@test -e "$(EVERYTHING)" || echo "The first build compiles the libraries of all middlewares: up to a quarter" \
		"of an hour on two cores. (make wirelap: the tracer without workloads, three minutes.)"

build: announce-build setup-build ## compile wirelap and the workloads
	cargo build $(WORKSPACE) --bins
	@touch "$(EVERYTHING)"

announce-live:
	@echo "This builds wirelap, then runs $(LIVE) on this machine and compares them on the screen, until you press q." \
		$(if $(filter all,$(NAMES)),,"For the other middlewares: make live LIVE=all")

# Without the libraries of the middlewares that are not asked for.
build-live:
	@.ci/setup build & setup=$$!; cargo fetch --quiet --locked --target $(HOST_TRIPLE) || true; wait $$setup
	cargo build --package wirelap --package wirelap-workload --no-default-features \
		--features "$(FEATURES:%=wirelap-workload/%)" --bins

live: announce-live $(if $(IS_WHOLE),build,build-live) ## compare the middlewares on this machine: LIVE=tcp,mqtt,… or LIVE=all
	$(SUDO) "$(CARGO_TARGET_DIR)/debug/wirelap" live --on $(LIVE)

announce-test:
	@test -e "$(CACHE)/truth/requirements.txt" || echo "make test downloads what is missing here: Debian packages (brokers, clients, tshark, Java)," \
		"the runner of the tests (20 MB), Python clients and DuckDB (280 MB installed), the source of nats-server, the jars of Apache Kafka (54 MB), and Rust crates." \
		"Each is named before it comes."

# Compiled as the user, run as root: probes can be attached only by root.
test: announce-test setup build ## all tests, those that attach probes included: TESTS='binary(e2e)' for some of them
	@test -e /var/cache/wirelap || echo "setup: the jars of Apache Kafka, by Maven"
	$(SUDO) "$(CARGO_TARGET_DIR)/debug/wirelap-workload" fetch kafka
	$(NEXTEST) $(if $(TESTS),-E '$(TESTS)')

build-tests: build
	$(NEXTEST) --no-run

# Root is not needed, and no broker.
test-quick: ## the tests that need neither root nor a broker nor tshark
	@.ci/setup build tools
	cargo nextest run $(WORKSPACE) --lib --bins --tests --profile quick

unit: ## the unit tests of a crate, compiled for quick turns and not for speed: CRATE=wirelap-correlate
	@.ci/setup build tools
	cargo nextest run --package $(CRATE) --lib --bins --cargo-profile quick

timings: ## how long it takes from a change of a file to the end of its crate's unit tests
	@.ci/setup build tools
	.ci/timings

truth: setup build ## every situation of the truth lab, and the table of what was said: TRUTH_ONLY=mqtt,loss TRUTH_CELLS='first, quiet;late, loaded' TRUTH_TABLE=FILE TRUTH_REPORTS=FOLDER
	$(SUDO) "$(CARGO_TARGET_DIR)/debug/wirelap-workload" fetch kafka
	$(NEXTEST) --profile long -E 'test(=the_whole_lab)' --run-ignored only --no-capture

implementations: ## run brokers and clients of others beside wirelap, and compare its counts with theirs: IMPLEMENTATIONS="mqtt librdkafka" IMPLEMENTATIONS_TABLE=FILE IMPLEMENTATIONS_KEEP=FOLDER WIRELAP=FILE
	@.ci/setup wirelap implementations
	$(if $(filter file,$(origin WIRELAP)),cargo build --package wirelap)
	$(SUDO) .ci/implementations/run --wirelap "$(WIRELAP)" $(IMPLEMENTATIONS) --keep "$(IMPLEMENTATIONS_KEEP)" \
		$(if $(IMPLEMENTATIONS),--update) --json "$(IMPLEMENTATIONS_TABLE)"

faults: setup build ## what is killed, stopped, full, gone: in every phase
	$(SUDO) "$(CARGO_TARGET_DIR)/debug/wirelap-workload" fetch kafka
	$(NEXTEST) --profile long -E 'binary(e2e) & test(/^(faults|failures|limits|rights|terminal)::/)' --run-ignored all

false-alarms: setup build ## how often `wirelap compare` finds a difference between two equal runs: PAIRS=20 ALARM_RUN='latency --on tcp,mqtt …'
	$(SUDO) .ci/false-alarms $(PAIRS) "$(CARGO_TARGET_DIR)/debug/wirelap" $(ALARM_RUN)

soak: setup build ## two hours of traffic: memory, latency and counts stay (WIRELAP_SOAK_SECONDS)
	$(NEXTEST) --profile long -E 'binary(e2e) & test(/^soak::/)' --run-ignored only --no-capture

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
	cargo fmt --all -- $(VERDICTS)
	clang-format -i $(PROBES)

lint: setup-build ## formats, circles of files, links of documents, clippy
	@.ci/setup lint
	cargo fmt --all -- --check $(VERDICTS)
	clang-format --dry-run -Werror $(PROBES)
	.ci/circles $(UNCIRCULAR)
	.ci/links .
	cargo clippy $(WORKSPACE) --all-targets -- -D warnings

# Not `advisories`: their database is a git repository, and a check must not need one to be reachable.
deny: ## licences, sources and bans of all dependencies
	@.ci/setup tools
	cargo deny check licenses bans sources

setup-kernels:
	@.ci/setup kernels $(if $(filter-out %-$(shell uname -m),$(KERNELS)),foreign-kernels)

kernels: setup-build setup-kernels ## the probes' tests on other kernels of Debian, in qemu, and the matrix of what came of it: KERNELS="6.1-x86_64 6.12-aarch64" KERNELS_TABLE=FILE
	KERNELS_TABLE="$(KERNELS_TABLE)" .ci/kernels/all "$(CACHE)/kernels" $(KERNELS) -- $(WORKSPACE)

hosts: setup build ## messages between three hosts with clocks of their own (virtual machines), and between network namespaces: what `wirelap live --host` says of counts and clocks, against the truth
	@.ci/setup hosts
	$(SUDO) WIRELAP="$(WIRELAP)" .ci/hosts/guests python3 .ci/hosts/judge.py --runs 3 --ports 21883 mosquitto
	$(SUDO) WIRELAP="$(WIRELAP)" .ci/hosts/namespaces sh -ec 'for name in mqtt kafka nats zenoh dds; do \
		python3 .ci/hosts/judge.py --collector away --rate 2000 --messages 100000 $$name; done'

wiresharks: setup build ## the dissectors' tests with the Wireshark of the Debian suites WIRESHARKS
	@.ci/setup wiresharks
	.ci/wiresharks "$(dir $(CARGO_TARGET_DIR))wiresharks" $(WIRESHARKS) -- sh -c '\
		$(NEXTEST) -E "binary(dissectors) | binary(annotated) | (binary(e2e) & test(/^(agreement|offline)::/))"'

dist: ## what is handed out of this commit: static programs, .deb, .rpm, wheels, OCI images, with sums, for both architectures: DIST=FOLDER DIST_WORKLOADS=no
	@.ci/setup wirelap dist
	@[[ "$${DIST_WORKLOADS-}" == no ]] || .ci/setup build foreign-build
	.ci/dist/all "$(DIST)"

try-dist: dist ## install the packages in minimal systems of the Debian suites SUITES and in a virtual ARM64 machine, use them, remove them
	@.ci/setup try-dist kernels foreign-kernels
	$(SUDO) .ci/dist/try "$(DIST)" $(SUITES)
	.ci/dist/try-machine "$(DIST)" "$(CACHE)/kernels"

screenshot: LIVE = tcp,udp,mqtt,kafka,zenoh-p2p,zenoh-brokered,dds,zeromq,opcua
screenshot: setup build ## draw the pictures of all views anew (docs/screens), from a real run
	.ci/screenshot docs/screens --keys jj -- $(SUDO) "$(CARGO_TARGET_DIR)/debug/wirelap" live --on $(LIVE) --by broker,client
	cp docs/screens/overview.svg docs/screenshot.svg

dissectors: ## install the Wireshark dissectors for this user
	@dissectors/install
