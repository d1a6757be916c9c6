# Two commands do everything on a fresh machine: `make demo` (a real query, no server to install) and `make test`.
# Needs Go and a C compiler; `make integration` also needs a JDK, Maven and Python 3.

GO       ?= go
TAGS     ?= duckdb_arrow
BIN      := bin
CACHE    ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/lakescan
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
PKGS     := ./...
# Parallel packages and, inside a package, parallel tests: sized for two cores.
TESTFLAGS ?= -timeout 10m
export CGO_ENABLED ?= 1

.PHONY: all build pure tpch demo test test-pure lint race assert integration oracle oracle-test differential faults cases cases-list bench-smoke bench-parquet bench-plan bench-deletes bench-selective histories mutants mutations fuzz-smoke tools docs clean help
all: build

build: $(BIN)/lakescan $(BIN)/lakescan-demo ## both programs, with the SQL engine (needs a C compiler)

.PHONY: $(BIN)/lakescan $(BIN)/lakescan-demo
$(BIN)/lakescan:
	@command -v $${CC:-cc} >/dev/null || { echo "lakescan: no C compiler found; 'make pure' builds without SQL" >&2; exit 2; }
	$(GO) build -tags $(TAGS) -o $@ ./cmd/lakescan
$(BIN)/lakescan-demo:
	cd demo && CGO_ENABLED=0 $(GO) build -o ../$@ .

pure: ## the build without SQL and without C
	CGO_ENABLED=0 $(GO) build -o $(BIN)/lakescan ./cmd/lakescan

demo: build ## a real query over an embedded S3, catalog and sample lake
	$(BIN)/lakescan demo

test: $(BIN)/lakescan-demo ## unit, corpus, cases, CLI scripts, SQL
	$(GO) vet -tags $(TAGS) $(PKGS)
	$(GO) test $(TESTFLAGS) -tags $(TAGS) $(PKGS)
	cd demo && $(GO) test $(TESTFLAGS) ./...

test-pure: ## the same without C compiler and engine
	CGO_ENABLED=0 $(GO) test $(TESTFLAGS) $(PKGS)

lint: ## formatting, vet, staticcheck, the repository's own rules
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted"; exit 1; }
	cd tools && $(GO) build -o ../$(BIN)/tools/ honnef.co/go/tools/cmd/staticcheck mvdan.cc/gofumpt
	@unformatted=$$($(BIN)/tools/gofumpt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofumpt: $$unformatted"; exit 1; }
	$(GO) vet -tags $(TAGS) $(PKGS)
	$(BIN)/tools/staticcheck -tags $(TAGS) $(PKGS)
	$(GO) test -count=1 ./internal/lint ./internal/cases
	$(GO) mod verify >/dev/null && $(GO) mod tidy -diff
	@for m in demo interop/oracle interop/parquetbench interop/parquetdiff interop/planbench; do (cd $$m && $(GO) mod tidy -diff) || { echo "$$m: go mod tidy"; exit 1; }; done

# A program built with the detector sleeps a second when it ends; the scripts start two hundred of them.
race: ## everything under the race detector, the longest tests in their short form
	GORACE=atexit_sleep_ms=20 $(GO) test $(TESTFLAGS) -race -short -tags $(TAGS) $(PKGS)

assert: ## Arrow's and our own assertions on
	$(GO) test $(TESTFLAGS) -tags $(TAGS),assert $(PKGS)

integration: build ## real MinIO, Iceberg REST catalog and toxiproxy as processes; other readers as judges
	integration/prepare.sh
	. integration/env.sh && $(GO) test -timeout 30m -count=1 -tags $(TAGS),integration ./integration/...
	$(MAKE) differential COUNT=300
	$(MAKE) oracle ORACLE_TABLES=8 ORACLE_SEED=5000

# A seed makes a table: the same seed makes it again. ORACLE_SEED empty = by the clock. ORACLE_RESULTS=file: a run that was stopped goes on.
# ORACLE_SPARK=40: Spark writes each fortieth table (installs pyspark).
ORACLE_TABLES ?= 500
ORACLE_PREDICATES ?= 20
ORACLE_SPARK ?= 0
oracle: ## random Iceberg tables and predicates: lakescan against a model, DuckDB and PyIceberg
	integration/prepare.sh python $(if $(filter-out 0,$(ORACLE_SPARK)),spark)
	. integration/env.sh && cd interop/oracle && SPARK_JARS="$$(echo "$$LAKESCAN_TOOLS"/spark/*.jar)" $(GO) run . -python "$$LAKESCAN_TOOLS/python/bin/python" \
		-spark-python "$$LAKESCAN_TOOLS/python/bin/python" -spark-every $(ORACLE_SPARK) -tables $(ORACLE_TABLES) -predicates $(ORACLE_PREDICATES) \
		$(if $(ORACLE_SEED),-seed $(ORACLE_SEED)) $(if $(ORACLE_RESULTS),-results $(abspath $(ORACLE_RESULTS)))

oracle-test: ## broken readers are caught; each known fault of DuckDB and PyIceberg is still there
	integration/prepare.sh python
	. integration/env.sh && cd interop/oracle && $(GO) test -count=1 -timeout 20m -tags integration .

COUNT ?= 2100
SEED  ?= 1
differential: ## COUNT random Parquet files of two writers from seed SEED on, read by three readers: no difference
	integration/prepare.sh python
	. integration/env.sh && cd interop/parquetdiff && $(GO) run . -count $(COUNT) -seed $(SEED)

tpch: build ## the 22 TPC-H queries against DuckDB and ClickHouse, with times: make tpch SF=1 ARGS="--latency 0,50,100 --reps 1"
	integration/prepare.sh peers
	. integration/env.sh && $(GO) test -timeout 60m -count=1 -v -tags integration -run TestRows ./integration/tpch -args -measure -sf $${SF:-0.1} -args="$${ARGS:-}"

.PHONY: selective sqllogic
selective: build ## ten selective queries: files, row groups and bytes that lakescan, DuckDB's Iceberg reader and PyIceberg ask for: make selective SF=0.3
	integration/prepare.sh
	. integration/env.sh && $(GO) test -timeout 20m -count=1 -v -tags integration -run TestSelective ./integration/tpch -args -sf $${SF:-0.3}

sqllogic: $(BIN)/lakescan ## duckdb-iceberg's SQL logic tests over the tables in its repository: make sqllogic REPO=path/to/duckdb-iceberg
	@[ -d "$(REPO)" ] || { echo "REPO=path of a checkout of github.com/duckdb/duckdb-iceberg" >&2; exit 2; }
	python3 interop/sqllogic/run.py "$(REPO)" $(ARGS)

bench-selective: build ## one per cent of the rows of 150 MB at 100 ms, against DuckDB and Polars: ARGS="--latency 50 --reps 5"
	integration/prepare.sh
	. integration/env.sh && $(GO) test -timeout 60m -count=1 -v -tags integration ./integration/selective -args -measure -args="$${ARGS:-}"

faults: ## what a scan does while servers, connections, files and keys fail, as a table
	integration/prepare.sh
	@mkdir -p $(BIN)
	@. integration/env.sh && LAKESCAN_FAULTS_OUT=$(CURDIR)/$(BIN)/faults.md $(GO) test $(TESTFLAGS) -count=1 -tags integration -run 'TestFaultTable|TestDiskCache' ./integration \
		>$(BIN)/faults.log || { cat $(BIN)/faults.log; exit 1; }
	@cat $(BIN)/faults.md $(BIN)/faults.md.cache

expiry: ## a minute's scan with storage keys that last five seconds and tokens that last three
	integration/prepare.sh
	. integration/env.sh && LAKESCAN_EXPIRY_SECONDS=$${SECONDS_LONG:-60} $(GO) test -count=1 -v -tags integration -run TestP8_AScanOutlives ./integration

cases: ## case id -> kind, result, tests; runs them (CASES="L12 DEL" for some)
	$(GO) run ./internal/cases -tags $(TAGS) $(CASES)

cases-list: ## the same without running them
	$(GO) run ./internal/cases -list $(CASES)

mutants: ## wrong changes that the tests must catch: some each day, all with MUTANTS=all
	$(GO) run ./internal/mutants

MUTATIONS ?= 20000
mutations: ## MUTATIONS broken variants of real Parquet files: no panic, no hang, bounded memory
	LAKESCAN_MUTATIONS=$(MUTATIONS) $(GO) test -count=1 -timeout 60m -run TestL52_MutationsOfEveryFile -v ./parquet | grep -a -E "mutations of|^(ok|FAIL|panic)|--- FAIL"

fuzz-smoke: ## each fuzz target for a moment
	scripts/fuzz.sh $${FUZZTIME:-5s}

bench-smoke: $(BIN)/lakescan ## each benchmark once, and the latency laboratory in small
	rm -rf out/smoke && $(BIN)/lakescan bench run experiments/smoke.yaml -o out/smoke
	$(GO) test -run '^$$' -bench . -benchtime 1x -tags $(TAGS) $(PKGS)

bench-parquet: ## decoding against arrow-go, parquet-go, DuckDB and bare decompression, one run, from memory, with the targets
	integration/prepare.sh python
	. integration/env.sh && cd interop/parquetbench && $(GO) run . -report

# PLANBENCH="-pairs 2" or PLANBENCH=-smoke for less.
bench-plan: ## planning, its latency and memory, limits, table metadata, against iceberg-go and PyIceberg in the same run
	integration/prepare.sh python
	@mkdir -p $(BIN)
	. integration/env.sh && cd interop/planbench && $(GO) run . -python "$$LAKESCAN_TOOLS/python/bin/python" -json $(CURDIR)/$(BIN)/bench-plan.json -sections plan,latency,memory,metadata,limit $(PLANBENCH)

bench-deletes: ## 3 million position deletes, 200 equality-delete files, against iceberg-go and PyIceberg in the same run
	integration/prepare.sh python
	@mkdir -p $(BIN)
	. integration/env.sh && cd interop/planbench && $(GO) run . -python "$$LAKESCAN_TOOLS/python/bin/python" -json $(CURDIR)/$(BIN)/bench-deletes.json -sections deletes $(PLANBENCH)

histories: ## live rows of 10 000 random tables against set algebra
	$(GO) test -count=1 -timeout 60m -run TestP4_ ./iceberg -args -histories 10000

tools: ## the servers and linters that tests use, at their pinned versions
	integration/prepare.sh

docs: ## regenerate docs/cli.md
	UPDATE_SCRIPTS=1 $(GO) test -count=1 -run TestReferenceIsCurrent ./cmd/lakescan

clean:
	rm -rf $(BIN)

help:
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 16
