# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0

# Needs Go, make and git. Everything else is built from Go modules into bin/tools, once.

MODULE := github.com/rancher-sandbox/cluster-api-provider-elemental

# What the binaries say of themselves.
VERSION ?= v0.8.0
ifndef GIT_COMMIT
GIT_COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
endif
# The release that is written: its tag, where to, and the image its Deployment runs.
RELEASE_TAG ?= $(VERSION)
RELEASE_DIR ?= out
MANAGER_IMAGE ?= ghcr.io/rancher-sandbox/cluster-api-provider-elemental
export RELEASE_TAG MANAGER_IMAGE
ldflags = -s -w -X $(MODULE)/internal/version.Version=$(1) -X $(MODULE)/internal/version.Commit=$(GIT_COMMIT)
LDFLAGS := $(call ldflags,$(VERSION))

# One set of flags for every build and test: others would compile all dependencies again. Nothing here reads DWARF, which programs are linked without:
# not to write it saves a seventh of the time of the compiler. A debugger needs it: build with "go build", without make.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false -gcflags=all=-dwarf=false
# Suites on envtest find etcd, kube-apiserver and kubectl here.
export KUBEBUILDER_ASSETS := $(CURDIR)/bin/tools

BUILD_TOOLS := hack/tools/build.sh
CONTROLLER_GEN := bin/tools/controller-gen
GOLANGCI_LINT := GOLANGCI_LINT_CACHE=$(CURDIR)/bin/cache/golangci-lint bin/tools/golangci-lint

# Suites that need the lab, real partitions or a container tool are kept out of test-unit.
LAB_SUITES := $(MODULE)/test/(integration|native|nodes|boot|pods|images|soak|bench|e2e)(/|$$)
GO_TEST_LAB := go test -v -count=1 -p 1 -timeout 60m
# Integration suites that run at a time at most, each with a lab of its own (2 GiB).
PARALLEL ?= 4
# A package whose tests mostly wait for their API server, and take minutes: 'make test' runs them beside the lab's suites.
SLOW_PACKAGE := ./controllers/hostupgrade
ALONGSIDE ?=
# Suites that take half of the time. With less than four processors 'make test' leaves them out, and says so, to end within
# an hour all the same; LONG=1 runs them anywhere, LONG=0 nowhere.
LONG_SUITES := $(shell awk '!/^\#/ { print $$1 }' hack/test/long-suites.txt)
PROCESSORS := $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
LONG ?= $(if $(filter 1 2 3,$(PROCESSORS)),0,1)
SHORT := $(filter 0 no false,$(LONG))
FUZZTIME ?= 20s
GINKGO_FLAGS ?= -ginkgo.v -ginkgo.poll-progress-after=2m

# Demo: KEEP=1 leaves the lab running, VMS=1 runs virtual machines on the hosts, DEMO_ARGS is passed on.
DEMO_VMS := $(or $(filter-out 0 false no,$(VMS)),$(filter --vms,$(DEMO_ARGS)))
DEMO_FLAGS := $(if $(filter-out 0 false no,$(KEEP)),--keep) $(if $(DEMO_VMS),--vms) $(if $(filter-out 0 false no,$(SINGLE)),--single) $(if $(filter-out 0 false no,$(PLAN)),--plan) $(filter-out --vms,$(DEMO_ARGS))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

##@ General

.PHONY: help
help: ## Show this help
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make <target> [VARIABLE=value]" } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z][a-z%-]*:.*## / { printf "  %-21s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: tools-demo $(if $(DEMO_VMS),tools-kubevirt) lab-binaries ## Start the lab and upgrade three hosts in place (VMS=1: with virtual machines; SINGLE=1: a cluster of one host; PLAN=1: a cluster's upgrade in an order; KEEP=1 leaves it running)
	go run ./test/lab/cmd/demo $(DEMO_FLAGS)

.PHONY: clean
clean: ## Remove what was built from this repository, keep the tools
	rm -rf bin/manager bin/elemental-agent bin/elemental-bundle bin/lab bin/manifests out

.PHONY: clean-tools
clean-tools: ## Remove the tools too (building them again takes minutes)
	rm -rf bin

##@ Build

.PHONY: tools
tools: ## Build the lab's tools (Kubernetes, etcd, Cluster API, kwok) and render their manifests
	@$(BUILD_TOOLS) lab
	@hack/tools/manifests.sh

# What the demo does not run is not built for it.
.PHONY: tools-demo
tools-demo:
	@$(BUILD_TOOLS) demo
	@hack/tools/manifests.sh

.PHONY: tools-kubevirt
tools-kubevirt: ## Build what a lab with virtual machines needs besides: KubeVirt's virt-api and virt-controller
	@$(BUILD_TOOLS) kubevirt
	@hack/tools/manifests.sh kubevirt

.PHONY: tools-kubevirt-operator
tools-kubevirt-operator: tools-kubevirt ## Build what an upgrade of KubeVirt needs besides: its operator, and the control plane of its next version
	@$(BUILD_TOOLS) kubevirt-operator
	@hack/tools/manifests.sh kubevirt-operator

.PHONY: tools-certmanager
tools-certmanager: ## Build what a management cluster that clusterctl installs needs besides: cert-manager's controllers
	@$(BUILD_TOOLS) certmanager
	@hack/tools/manifests.sh certmanager

.PHONY: tools-nodes
tools-nodes: ## Build what hosts with real nodes need besides: the kubelet and kubeadm
	@$(BUILD_TOOLS) nodes

.PHONY: tools-pods
tools-pods: tools-nodes ## Build what a node with Services needs besides: kube-proxy and CoreDNS
	@$(BUILD_TOOLS) pods

.PHONY: tools-vip
tools-vip: ## Build what announces the address of a control plane: kube-vip
	@$(BUILD_TOOLS) vip

.PHONY: build
build: ## Build bin/manager, bin/elemental-agent and bin/elemental-bundle (VERSION=..., GIT_COMMIT=...)
	go build -ldflags '$(LDFLAGS)' -o bin/manager ./cmd/manager
	go build -ldflags '$(LDFLAGS)' -o bin/elemental-agent ./cmd/elemental-agent
	go build -ldflags '$(LDFLAGS)' -o bin/elemental-bundle ./cmd/elemental-bundle

.PHONY: lab-binaries
lab-binaries: build ## Build what the lab runs: manager, agent and the host's double
	go build -ldflags '$(LDFLAGS)' -o bin/lab/hostdouble ./test/lab/cmd/hostdouble

##@ Release

CONTAINER_TOOL ?= docker
AGENT_IMAGE ?= $(MANAGER_IMAGE)-agent
# Of the release, whatever VERSION is: what an image says of itself is what it is tagged.
DOCKER_BUILD = $(CONTAINER_TOOL) build --build-arg LDFLAGS='$(call ldflags,$(RELEASE_TAG))' $(DOCKER_FLAGS)

.PHONY: docker-build
docker-build: ## Build the images of manager and agent (CONTAINER_TOOL=docker, DOCKER_FLAGS, MANAGER_IMAGE, AGENT_IMAGE, RELEASE_TAG)
	$(DOCKER_BUILD) --target manager --tag $(MANAGER_IMAGE):$(RELEASE_TAG) .
	$(DOCKER_BUILD) --target agent --tag $(AGENT_IMAGE):$(RELEASE_TAG) .

.PHONY: release
release: ## Write the release's assets: components, templates, classes, bill of materials, checksums (RELEASE_TAG, RELEASE_DIR=out, MANAGER_IMAGE)
	@$(BUILD_TOOLS) kubectl
	@hack/release/release.sh $(RELEASE_DIR)

.PHONY: clusterctl-repository
clusterctl-repository: release ## Lay the release out as a local clusterctl repository, with a clusterctl configuration
	@hack/release/repository.sh $(RELEASE_DIR) $(RELEASE_DIR)/repository

##@ OS images

# An image is $(OS_IMAGE):$(OS_TAG)-FLAVOR, its media $(ISO_DIR)/elemental-FLAVOR.iso.
OS_IMAGE ?= docker.io/library/elemental-os
OS_TAG ?= dev
OS_FLAVORS := kubeadm rke2 k3s
ISO_DIR ?= iso
# The image that the agent is taken from. Without one it is built from this checkout, of VERSION and GIT_COMMIT.
OS_AGENT ?=
os_agent = $(or $(OS_AGENT),localhost/elemental-agent:$(OS_TAG))
os_image = $(OS_IMAGE):$(OS_TAG)-$(1)
# Arguments of hack/os/Dockerfile that are passed on where they are set, be it to nothing.
OS_ARGS := BASE INSTALL_PACKAGES PACKAGES KUBERNETES_VERSION CONTAINERD_VERSION CNI_PLUGINS_VERSION CRICTL_VERSION KUBERNETES_URL GITHUB_URL FEATURES
os_args = $(foreach arg,$(OS_ARGS),$(if $(filter undefined,$(origin $(arg))),,--build-arg $(arg)='$($(arg))'))
os_flavor = $(or $(filter $(OS_FLAVORS),$(1)),$(error there is no flavor $(1): use one of $(OS_FLAVORS)))

build-os-%: ## Build an OS image, of kubeadm, rke2 or k3s (CONTAINER_TOOL=docker, BASE, PACKAGES, KUBERNETES_VERSION, see docs/os-images.md)
	$(if $(OS_AGENT),,$(CONTAINER_TOOL) build --build-arg LDFLAGS='$(LDFLAGS)' $(DOCKER_FLAGS) --target agent --tag $(os_agent) .)
	$(CONTAINER_TOOL) build --file hack/os/Dockerfile --target os --tag $(call os_image,$*) --build-arg FLAVOR=$(call os_flavor,$*) --build-arg AGENT=$(os_agent) \
		--build-arg IMAGE=$(call os_image,$*) --build-arg VERSION=$(VERSION) --build-arg GIT_COMMIT=$(GIT_COMMIT) $(os_args) $(OS_FLAGS) .

.PHONY: agent-config
agent-config:
	@[ -s '$(AGENT_CONFIG_FILE)' ] || { echo "AGENT_CONFIG_FILE='$(AGENT_CONFIG_FILE)' is no file with a configuration: hack/print-agent-config.sh writes one" >&2; exit 1; }

build-iso-%: agent-config build-os-% ## Build live media that installs it: AGENT_CONFIG_FILE=... of hack/print-agent-config.sh
	mkdir -p $(ISO_DIR)
	$(CONTAINER_TOOL) build --file hack/os/Dockerfile.iso --target iso --build-arg OS_IMAGE=$(call os_image,$*) --build-arg NAME=elemental-$* \
		--secret id=agent-config,src=$(AGENT_CONFIG_FILE) --output type=local,dest=$(ISO_DIR) $(OS_FLAGS) .

##@ Code

# controller-gen refuses folders that are not there, hence the wildcard.
RBAC_PATHS = $(patsubst %,paths=./%/...,$(wildcard controllers hooks internal))

.PHONY: generate
generate: ## Generate deep-copy functions for the API
	@$(BUILD_TOOLS) controller-gen
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/... paths=./internal/rke2/...

.PHONY: manifests
manifests: ## Generate CRDs, the manager's ClusterRole and webhook configurations from markers
	@$(BUILD_TOOLS) controller-gen
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:artifacts:config=config/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=manager-role $(RBAC_PATHS) output:rbac:artifacts:config=config/rbac
	$(CONTROLLER_GEN) webhook paths=./internal/webhooks/... output:webhook:artifacts:config=config/webhook

.PHONY: generate-docs
generate-docs: ## Generate the reference of fields and flags (docs/reference) from CRDs and programs
	go run ./hack/docs

.PHONY: fmt
fmt: ## Format the code and sort imports
	@$(BUILD_TOOLS) golangci-lint
	$(GOLANGCI_LINT) fmt

.PHONY: lint
lint: ## Run golangci-lint
	@$(BUILD_TOOLS) golangci-lint
	$(GOLANGCI_LINT) run

.PHONY: lint-e2e
lint-e2e: ## Run golangci-lint on the e2e suite, a module of its own
	@$(BUILD_TOOLS) golangci-lint
	cd test/e2e && GOLANGCI_LINT_CACHE=$(CURDIR)/bin/cache/golangci-lint $(CURDIR)/bin/tools/golangci-lint run

.PHONY: verify
verify: ## Check generated files, go.mod, format, lint, file sizes, comments and license headers
	@hack/verify/all.sh

##@ Test

.PHONY: test
test: ## Run every test that needs no container engine
	@$(MAKE) --no-print-directory test-unit ALONGSIDE=$(SLOW_PACKAGE)
	@$(MAKE) --no-print-directory test-integration ALONGSIDE=$(SLOW_PACKAGE)

.PHONY: test-unit
test-unit: tools lab-binaries ## Run the tests of all packages but the integration suites
	packages=$$(go list ./...) && hack/test/unit.sh $$(echo "$$packages" | grep -Ev '^$(LAB_SUITES)$(if $(ALONGSIDE),|^$(MODULE)$(ALONGSIDE:.%=%)$$)')

.PHONY: test-integration
test-integration: tools tools-kubevirt $(if $(SHORT),,tools-certmanager tools-kubevirt-operator) lab-binaries ## Run the integration suites on the lab, with progress (LONG=1: all of them, also on a small machine)
	PARALLEL=$(PARALLEL) ALONGSIDE=$(ALONGSIDE) LEAVE_OUT="$(if $(SHORT),$(LONG_SUITES))" hack/test/suites.sh test/integration $(GINKGO_FLAGS)

# The specs of the snapshotter btrfs need the real CLI: its stand-in has none.
NATIVE_LABELS ?= $(if $(ELEMENTAL_BIN),,!real-cli)

.PHONY: test-native
test-native: native-packages build standin ## Run the agent with the elemental CLI on real partitions: needs root and loop devices; installs Debian packages, see docs/testing.md (ELEMENTAL_BIN=...: the real CLI)
	@$(if $(ELEMENTAL_BIN),,echo "==> the specs of btrfs do not run: they need the real CLI (ELEMENTAL_BIN)")
	hack/test/suite.sh ./test/native -ginkgo.label-filter='$(NATIVE_LABELS)' $(GINKGO_FLAGS)

.PHONY: native-packages
native-packages:
	@hack/test/native-packages.sh

# Which specs, by label: the specs short are the others' essence on one node.
NODES_LABELS ?= !short

.PHONY: test-nodes
test-nodes: nodes-packages tools tools-nodes lab-binaries nspawn-binaries ## Upgrade nodes with real systemd, containerd and kubelet: needs root, cgroup v1; installs Debian packages, see docs/testing.md
	hack/test/suite.sh ./test/nodes -ginkgo.label-filter='$(NODES_LABELS)' $(GINKGO_FLAGS)

.PHONY: test-nodes-short
test-nodes-short: ## The same with one node, a good and a bad image, in four minutes; where the machine cannot run it, it says why and passes
	@hack/test/nodes-short.sh

.PHONY: nodes-packages
nodes-packages:
	@hack/test/nodes-packages.sh

# The real elemental CLI; suites use its stand-in without it. Tests run in their own folders.
export ELEMENTAL_BIN := $(if $(ELEMENTAL_BIN),$(abspath $(ELEMENTAL_BIN)))

.PHONY: standin
standin: ## Build the stand-in for the elemental CLI, which suites use where ELEMENTAL_BIN is not set
	go build -ldflags '-s -w' -o bin/lab/elemental ./test/lab/cmd/elemental

.PHONY: nspawn-binaries
nspawn-binaries: standin
	go build -ldflags '-s -w' -o bin/lab/ ./test/nspawn/cmd/...

.PHONY: test-boot
test-boot: boot-packages tools tools-nodes build nspawn-binaries ## Upgrade a virtual machine that boots through GRUB (CUTS=20: only cut its power, that often; FIRMWARE=uefi): needs root; installs Debian packages, see docs/testing.md
	go build -ldflags '-s -w' -o bin/lab/guest ./test/boot/guest
	$(if $(CUTS),go test -v -count=1 -timeout 0 ./test/boot -ginkgo.timeout=8h -ginkgo.focus=random,hack/test/suite.sh ./test/boot) $(GINKGO_FLAGS)

.PHONY: boot-packages
boot-packages:
	@hack/test/boot-packages.sh

.PHONY: test-pods
test-pods: pods-packages tools tools-pods tools-certmanager lab-binaries nspawn-binaries ## Install the release by clusterctl, with all managers as Pods on a real node: needs root, cgroup v1; installs Debian packages, see docs/testing.md
	go build -ldflags '-s -w' -o bin/lab/greeter ./test/pods/greeter
	hack/test/suite.sh ./test/pods $(GINKGO_FLAGS)

.PHONY: pods-packages
pods-packages:
	@hack/test/pods-packages.sh

.PHONY: test-images
test-images: ## Build OS images and live media, on a base of this machine's programs: needs root, buildah, ELEMENTAL_BIN and Debian packages, see docs/testing.md
	hack/test/suite.sh ./test/images $(GINKGO_FLAGS)

.PHONY: test-long
test-long: $(if $(SHORT),tools tools-kubevirt lab-binaries) ## Run the long suites in turn, as far as DEADLINE allows (.ci/run); none where 'make test' has run them
	@$(if $(SHORT),hack/test/long.sh $(GINKGO_FLAGS),echo "==> no long suite is left: 'make test' runs all of them on this machine")

.PHONY: test-repeat
test-repeat: tools lab-binaries ## Run packages again and again on a busy machine: PACKAGES=./test/integration/observe RUNS=10 BUSY=8
	@RUNS=$(or $(RUNS),10) BUSY=$(or $(BUSY),8) hack/test/repeat.sh $(PACKAGES) $(GINKGO_FLAGS)

.PHONY: test-soak
test-soak: tools tools-kubevirt lab-binaries ## Run the suites that are too long for every change: the kill table, the table of ends, several at once
	PARALLEL=$(PARALLEL) hack/test/suites.sh test/soak $(GINKGO_FLAGS)

SEEDS ?= 1-1000

.PHONY: test-schedules
test-schedules: ## Disturb upgrades of a host at random, one for each seed (SEEDS=1-200)
	SEEDS=$(SEEDS) hack/test/suite.sh ./test/integration/agent -ginkgo.focus=seed $(GINKGO_FLAGS)

# The e2e suite is a module of its own, see test/e2e/doc.go. Ginkgo ends it after an hour, which real hosts do not keep to.
E2E_TIMEOUT ?= 8h
GO_TEST_E2E := rm -rf bin/e2e && mkdir -p bin/e2e && cd test/e2e && go test -v -count=1 -timeout 0 . $(GINKGO_FLAGS) -e2e.artifacts-folder $(CURDIR)/bin/e2e

.PHONY: test-e2e
test-e2e: tools lab-binaries release ## Run the e2e suite, on Cluster API's test framework, on the lab
	$(GO_TEST_E2E) -e2e.use-lab -ginkgo.timeout=$$(. $(CURDIR)/hack/test/deadline.sh && timeout_within 3600)s

# Which specs run on real nodes, by label: all of them need hours on two processors.
E2E_NODES_LABELS ?= self-hosted

.PHONY: test-e2e-nodes
test-e2e-nodes: nodes-packages pods-packages tools tools-pods tools-vip tools-certmanager lab-binaries nspawn-binaries release ## Run its spec self-hosted on real nodes: needs root, cgroup v1; installs Debian packages, see docs/e2e.md
	$(GO_TEST_E2E) -e2e.use-nodes -ginkgo.label-filter='$(E2E_NODES_LABELS)' -ginkgo.timeout=$(E2E_TIMEOUT)

.PHONY: test-e2e-kind
test-e2e-kind: docker-build release ## Run the e2e suite on kind, with hosts of yours (docs/e2e.md; E2E_TIMEOUT=8h)
	$(GO_TEST_E2E) -ginkgo.timeout=$(E2E_TIMEOUT)

.PHONY: fuzz
fuzz: ## Run each fuzz target for a while (FUZZTIME=20s)
	hack/test/fuzz.sh $(FUZZTIME)

# The packages that decide.
MUTATE ?= agent/upgrade agent/osplugin/elemental agent/assess internal/owner internal/capiworkaround internal/preflight internal/workload/kubevirt internal/workload/longhorn internal/token hooks

.PHONY: mutate
mutate: tools ## Change one condition at a time, and fail if no test notices it: hours (MUTATE="agent/assess hooks": of these packages)
	go run ./hack/mutate $(MUTATE)

.PHONY: bench
bench: tools tools-kubevirt lab-binaries ## Measure scale: ended attempts, rollouts by the size of the cluster, hosts, slow clusters, virtual machines
	$(GO_TEST_LAB) ./test/bench/... $(GINKGO_FLAGS)

# The commit whose costs today's are compared with.
BASELINE ?= 5374f01e
BASELINE_DIR := bin/baseline/$(BASELINE)

.PHONY: bench-baseline
bench-baseline: tools lab-binaries $(BASELINE_DIR)/bin/manager ## Measure rollouts with the manager of another commit and with this one's (BASELINE=commit, ROLLOUT_BENCH_NODES=10,100,1000)
	ROLLOUT_BENCH_BASELINE=$(BASELINE_DIR) $(GO_TEST_LAB) ./test/bench/rollout $(GINKGO_FLAGS)

$(BASELINE_DIR)/bin/manager:
	mkdir -p $(BASELINE_DIR)
	git archive $(BASELINE) | tar -x -C $(BASELINE_DIR)
	cd $(BASELINE_DIR) && go build -ldflags '$(LDFLAGS)' -o bin/manager ./cmd/manager
