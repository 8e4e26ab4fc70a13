# Longer forms of README's commands. Only git and Go are needed for build, plugins, test and vet.
GO ?= go

.PHONY: build cuda plugins test slow race vet fuzz generate lint ci clean

build: ## the program
	$(GO) build -o bin/chessbrain ./cmd/chessbrain

cuda: ## the program for NVIDIA GPUs, bin/chessbrain-cuda (needs gcc; runs beside bin/chessbrain)
	@mkdir -p bin
	GO="$(GO)" scripts/build_cuda.sh

plugins: ## the shipped rescorers, samplers and exporters as programs, into bin/plugins
	@mkdir -p bin/plugins
	$(GO) build -ldflags='-s -w' -o bin/plugins/ $(addprefix ./,$(dir $(wildcard plugins/*/main.go)))
	@chmod go-w bin/plugins bin/plugins/*

test: ## what `go test ./...` runs
	$(GO) test ./...

slow: ## the same, with the long forms of slow tests
	$(GO) test -tags slow ./...

vet: ## go vet, gofmt
	$(GO) vet ./...
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }

race: ## race detector on the concurrent packages (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -short ./mcts/... ./selfplay/... ./arena/... ./chess/uci ./replay/... ./trainer/... ./nn/cpu/train ./internal/monitor/... ./run/... ./plugins/api ./plugins/host

fuzz: ## every decoder, 20000 fresh inputs each; FUZZCOUNT=2000000 for more
	GO="$(GO)" scripts/fuzz.sh $(or $(FUZZCOUNT),20000)

generate: ## assembly, protobuf (protoc 3.21 must be installed), PTX of the CUDA kernels (where nvcc 11.8 is)
	$(GO) generate ./...

lint: ## shell scripts
	shellcheck scripts/*.sh scripts/demo/*.sh .ci/run

ci: ## what continuous integration runs
	.ci/run

clean:
	rm -rf bin
