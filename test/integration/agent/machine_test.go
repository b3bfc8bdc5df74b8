// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/rendezvous"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const hostName = "host-1"

// patience is the timeout for what a host has to do eventually, on a busy machine.
const patience = specs.Patience

// machine is a host with the real agent, a registry and an API.
type machine struct {
	*host.Host
	api      *apitest.API
	registry *image.Registry
	// first is the OS that it is made with.
	first image.OS
	// agentConfig is "agent" of the agent's configuration, files are additional files of the host, by
	// path.
	agentConfig map[string]any
	files       map[string]string
	// live boots it from live media; met is called just before and just after each of its commands.
	live bool
	met  func(m *machine, moment rendezvous.Moment)
}

// newMachine creates a host and powers it on. before is applied to it first.
func newMachine(before ...func(m *machine)) *machine {
	GinkgoHelper()
	registry, err := image.Start(image.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(registry.Close)
	m := &machine{api: apitest.New(), registry: registry, agentConfig: map[string]any{"hostname": map[string]any{"useExisting": true}}}
	DeferCleanup(m.api.Close)
	m.api.SetConfig(`{"elemental":{"reset":{"resetPersistent":true,"resetOem":true}}}`)
	for _, prepare := range before {
		prepare(m)
	}
	m.Host = m.build(GinkgoT().TempDir())
	for path, content := range m.files {
		Expect(m.Disk().WriteFile(path, []byte(content))).To(Succeed())
	}
	if m.met != nil {
		place, err := rendezvous.Open(m.Path(), func(moment rendezvous.Moment) { m.met(m, moment) })
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(place.Close)
	}
	Expect(m.Start(GinkgoT().Context())).To(Succeed())
	DeferCleanup(m.logs)
	DeferCleanup(m.Stop)
	Eventually(m.last, patience).Should(HaveField("AgentVersion", Not(BeEmpty())))
	return m
}

// assessFor limits how long a boot may take to become good, and to a second how long it has to stay so.
func (m *machine) assessFor(timeout time.Duration) {
	GinkgoHelper()
	policy, err := json.Marshal(map[string]time.Duration{"AssessTimeout": timeout, "StableWindow": time.Second})
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(m.Path(assessPolicyFile), policy, 0o600)).To(Succeed())
}

// hold blocks the machine in phases of the next upgrade.
func (m *machine) hold(phases ...string) *host.Held {
	GinkgoHelper()
	held, err := m.Hold(phases...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(held.Close)
	return held
}

func (m *machine) build(dir string) *host.Host {
	GinkgoHelper()
	self, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	agent, ca := filepath.Join(dir, agentName), filepath.Join(dir, "ca.pem")
	Expect(os.Symlink(self, agent)).To(Succeed())
	Expect(m.registry.WriteCA(ca)).To(Succeed())
	config, err := json.Marshal(map[string]any{
		"registration": map[string]any{"uri": m.api.URI(), "caCert": m.api.CACert(), "token": apitest.Token},
		"agent":        m.agentConfig,
	})
	Expect(err).NotTo(HaveOccurred())
	created, err := host.New(GinkgoT().Context(), host.Options{
		Name: hostName, Root: filepath.Join(dir, hostName), Image: m.push("v1", m.first).URI(),
		Double: self, Agent: agent, Config: config, CABundle: ca, Live: m.live,
		BootTime: 20 * time.Millisecond, AssessmentTry: 20 * time.Millisecond, RestartDelay: 20 * time.Millisecond,
	})
	Expect(err).NotTo(HaveOccurred())
	return created
}

func (m *machine) logs() {
	if !CurrentSpecReport().Failed() {
		return
	}
	for _, name := range []string{"agent.log", "console.log"} {
		found, _ := filepath.Glob(m.Path("var", "log", name))
		more, _ := filepath.Glob(m.Path("lab", name))
		for _, path := range append(found, more...) {
			content, _ := os.ReadFile(path)
			fmt.Fprintf(GinkgoWriter, "---- %s\n%s\n", path, content)
		}
	}
	fmt.Fprintf(GinkgoWriter, "---- boots %+v\n", m.Boots())
	fmt.Fprintf(GinkgoWriter, "---- attempt %+v\n", m.attempt())
}

func (m *machine) push(version string, os image.OS) image.Image {
	GinkgoHelper()
	os.Version, os.Bytes = version, 64<<10
	pushed, err := m.registry.Push(GinkgoT().Context(), "elemental/os", version, os)
	Expect(err).NotTo(HaveOccurred())
	return pushed
}

func (m *machine) last() wire.Report { return m.api.Last(m.name()) }

// name by which the host registered; empty before it has chosen one.
func (m *machine) name() string {
	content, err := os.ReadFile(m.Path("/var/lib/elemental/agent/hostname"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// attempt is the last reported attempt; the zero value if there is none.
func (m *machine) attempt() wire.Attempt {
	if attempt := m.last().Upgrade; attempt != nil {
		return *attempt
	}
	return wire.Attempt{}
}

func (m *machine) desire(desired wire.Desired) {
	desired.Approved = true
	m.api.Desire(m.name(), desired)
}

func (m *machine) upgrade(attempt string, to image.Image) {
	m.desire(wire.Desired{Upgrade: request(attempt, to.URI(), true)})
}

func request(attempt, uri string, apply bool) *wire.Upgrade {
	version, err := json.Marshal(wire.OSVersion{ImageURI: uri})
	Expect(err).NotTo(HaveOccurred())
	return &wire.Upgrade{Attempt: attempt, Apply: apply, OSVersionManagement: map[string]json.RawMessage{"osVersion": version}}
}

// ends waits for the end of an attempt and returns it.
func (m *machine) ends(attempt string) wire.Attempt {
	GinkgoHelper()
	Eventually(m.attempt, patience).Should(And( // a failing check is tried three times within 20 seconds
		HaveField("Attempt", attempt),
		HaveField("Phase", BeElementOf(wire.PhaseSucceeded, wire.PhaseFailed, wire.PhaseRolledBack))))
	return m.attempt()
}

// mode of the boot; empty while the host is down.
func (m *machine) mode() string {
	booted, err := m.Booted()
	if err != nil {
		return ""
	}
	return booted.Mode
}

// finished counts the calls of a command that ended with exit code 0.
func (m *machine) finished(argv ...string) int {
	GinkgoHelper()
	all, err := m.Calls()
	Expect(err).NotTo(HaveOccurred())
	n := 0
	for _, call := range all {
		if call.Is(argv...) && call.RC == 0 {
			n++
		}
	}
	return n
}

// grub is a variable of grubenv.
func (m *machine) grub(name string) string {
	GinkgoHelper()
	env, err := m.GrubEnv()
	Expect(err).NotTo(HaveOccurred())
	return env.Get(name)
}

func (m *machine) passive() string {
	GinkgoHelper()
	env, err := m.GrubOEMEnv()
	Expect(err).NotTo(HaveOccurred())
	return env.Get("passive_snaps")
}

// marker is the agent's marker file, the zero value if it does not exist.
func (m *machine) marker() upgrade.Marker {
	marker := upgrade.Marker{}
	content, err := os.ReadFile(m.Path("/var/lib/elemental/agent", upgrade.MarkerFile))
	if err == nil {
		_ = json.Unmarshal(content, &marker)
	}
	return marker
}
