# Two commands do all the set-up on a fresh machine with Go, make, git and apt: `make demo` and `make test`.

GO ?= go
export CGO_ENABLED ?= 1

.PHONY: demo test check vet race short build install dist bench golden servers soak clean

# demo runs every bundled scenario against the embedded target, up to four times where the machine stood still meanwhile, and
# leaves its reports in reports/.
demo:
	@echo "every scenario on rlcheck's own endpoint, a right limiter;" \
		"on yours: rlcheck run builtin:core -t URL --limit SPEC"
	$(GO) run ./cmd/rlcheck run --retries 3 scenarios

# Tests, and the tools around them, may keep garbage of four times what is in use. To collect it took a third of
# the processor time.
test vet race short soak: export GOGC = 400

# PLAIN are the flags of all tests: make check vets, and nobody debugs what was linked for one run.
PLAIN = -vet=off -ldflags=-w

# LONG are the packages whose tests take longest. They begin first, so none of them is alone at the end.
LONG = cmd/rlcheck internal/trial internal/identify internal/check

# test installs the servers that the tests talk to and runs all tests: three packages at a time, as some of them
# mostly wait. Those of real servers run alone, as what they measure is no sharper than the machine is quiet.
test: servers
	RLCHECK_REQUIRE_SERVERS=1 $(GO) test $(PLAIN) -p 3 -timeout 14m $(LONG:%=./%) \
		$$($(GO) list ./... | grep -v '/internal/live$$' $(LONG:%=| grep -v '/%$$'))
	RLCHECK_REQUIRE_SERVERS=1 $(GO) test $(PLAIN) -timeout 14m ./internal/live

servers:
	.ci/servers

# check is what must pass before a commit: format, vet, staticcheck, and the short tests without servers; under the race detector
# those of the packages that start goroutines, and of the judge and the trial those that judge or record many at once.
check:
	@test -z "$$(gofmt -l cmd internal scenarios)" || { gofmt -l cmd internal scenarios; echo "not gofmt-ed (run gofmt -w)"; exit 1; }
	@$(MAKE) --no-print-directory -j 2 vet race short

vet:
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# RACED are the packages that start goroutines. Of the judge and the trial, those tests run under the race detector that
# judge or record many at once. Long tests leave themselves out where they are to be short.
SHORT = $(PLAIN) -short -p 3
RACED = fleet lab load load/transport timeline

race:
	$(GO) test $(SHORT) -race $(RACED:%=./internal/%)
	$(GO) test $(SHORT) -race -run 'TapeKeeps|ShareTheirWindows|Tables|Beside|Fleet' ./internal/check ./internal/trial

short:
	$(GO) test $(SHORT) $$($(GO) list ./... | grep -v -e /internal/live $(RACED:%=-e /internal/%$$))

# NAMED tells the binary its commit: Go records none in a worktree, nor where GOFLAGS has -buildvcs=false.
NAMED = -X main.revision=$(shell git rev-parse HEAD 2>/dev/null)

build:
	$(GO) build -trimpath -ldflags '$(NAMED)' -o bin/rlcheck ./cmd/rlcheck

install:
	$(GO) install -trimpath -ldflags '$(NAMED)' ./cmd/rlcheck

# dist builds the release archives of six platforms into dist/.
dist:
	RLCHECK_RELEASE=1 $(GO) test -run TestReleaseHasWhatItPromises ./cmd/rlcheck
	.ci/dist

# bench prints ratios against a peer in the same run, never absolute claims. It takes some five minutes;
# RLCHECK_BENCH_LARGE=1 adds histories of ten million observations, which take 4 GB and some minutes more.
bench:
	$(GO) test -run '^$$' -bench . -benchmem -benchtime 100ms ./internal/check ./cmd/rlcheck ./internal/load ./internal/load/transport ./internal/timeline ./internal/trial ./internal/accesslog ./internal/reference ./internal/lab

# golden writes the files again that tests compare with; read the difference before it is committed.
golden:
	$(GO) test ./internal/report ./internal/scenario ./internal/lab -update
	$(GO) test ./cmd/rlcheck -run 'TestScripts|TestTableOfKeys|TestParseCurl' -update

# soak runs what takes hours: fifty bursts against nginx on a busy machine, some four million random histories, thousands of
# recordings, a million decisions of each protocol, and what identify says of random limits and of every fault.
soak: servers
	RLCHECK_SOAK=1 RLCHECK_REQUIRE_SERVERS=1 $(GO) test -timeout 4h -count=1 -v -run 'Soak|Chaos|FiftyTimes|NeverAccuse' ./internal/live ./internal/load
	RLCHECK_SOAK=1 $(GO) test -timeout 4h -count=1 -v ./internal/check ./internal/trial ./internal/accesslog ./rlchecktest
	RLCHECK_SOAK=1 RLCHECK_SEED=$(SEEDS) $(GO) test -timeout 4h -count=1 -v \
		-run 'Named|NoName|Other|FromFarAway|OnASteadyPath|AreFound|TakeLong|AreNoQueue|WithoutItsBan|IsTold' \
		./internal/identify

# SEEDS are the random limits that soak identifies, of 0-499, near and far.
SEEDS = 0-55

clean:
	rm -rf bin .cache
