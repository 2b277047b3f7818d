# Everything a fresh clone needs. `make demo` and `make test` set up what they use.

GO      ?= go
BIN     := bin/oversell
RUNS    ?= runs
PARALLEL ?= 2
# Packages tested at a time: two cores are busy with three, as many tests wait for servers.
PACKAGES ?= 3
VERSIONS ?= all
# Options of make matrix, such as MATRIX="--resume runs/20261129-120000-matrix".
MATRIX ?=
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Packages in which goroutines meet.
RACY := ./cluster/... ./faults/... ./history/... ./instance/... ./internal/... ./locks/... ./metrics/... ./wire/...

.PHONY: demo test check build images setup docs man matrix versions explore clean help

help: ## Say what there is to make
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Set up, then play the main scenarios under the naive and the safe lock
	@scripts/setup.sh
	@$(MAKE) --no-print-directory build
	@scripts/demo.sh $(BIN) $(RUNS)

test: ## Set up everything, bring the README's tables up to date, run all tests
	@$(GO) list -export -test -deps ./... >/dev/null 2>&1 & scripts/setup.sh --all; wait # compiles meanwhile
	@scripts/readme-tables.sh $(GO)
	$(GO) test -p $(PACKAGES) -timeout 8m $$($(GO) list ./... | grep -v '/cmd/oversell$$')
	$(GO) test -parallel $(PARALLEL) -timeout 8m ./cmd/oversell # whole runs want the machine for themselves

check: ## Formatting, vet, staticcheck, go.mod, imports, and the race detector
	@unformatted=$$(gofmt -l $$($(GO) list -f '{{.Dir}}' ./...)); \
	if [ -n "$$unformatted" ]; then echo "not formatted:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) mod tidy -diff
	$(GO) test ./internal/archtest
	$(GO) test -race -short -p $(PARALLEL) -timeout 8m $(RACY)

build: ## Build bin/oversell
	$(GO) build -o $(BIN) ./cmd/oversell

images: ## Make the server images, from a registry or from the distribution's packages
	@scripts/images.sh $(VERSIONS)

setup: ## Install what tests and demo use; says first what that is
	@scripts/setup.sh --all

docs: build ## Bring the README's tables, its example run and the schema up to date
	@scripts/readme-tables.sh $(GO)
	@scripts/readme-run.sh $(BIN)

man: build ## Write manual pages and shell completions below bin/share
	@$(BIN) man bin
	@echo "bin/share is up to date"

matrix: build ## Play every scenario under every lock, and bring the README's matrix up to date
	@scripts/matrix.sh $(BIN) $(RUNS) $(MATRIX)

versions: build images ## Play short scenarios on every server version, and bring the tables of docs/matrix.md up to date
	@scripts/versions.sh $(BIN) $(RUNS)

explore: build ## Explore every lock under every hazard, and bring the table of docs/explore.md up to date
	@scripts/explore.sh $(BIN)

clean: ## Remove what was built, and what dead runs have left
	@if [ -x $(BIN) ]; then $(BIN) clean; fi
	rm -rf bin
