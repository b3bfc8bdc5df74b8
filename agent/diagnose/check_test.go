// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnose_test

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/diagnose"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

const (
	workDir   = "/var/lib/elemental/agent"
	rootLine  = "1 0 7:0 / / ro - ext4 /dev/loop0 ro\n"
	stateLine = "2 1 8:3 /a /var/lib/elemental rw - ext4 /dev/sda3 rw\n"
)

// wrongClock is off by a constant.
type wrongClock struct {
	system.WallClock
	off time.Duration
}

func (c wrongClock) Now() time.Time { return c.WallClock.Now().Add(c.off) }

// machine is a host with a work directory on a partition of its own.
type machine struct {
	diagnose.Subject
	settings config.Config
}

func write(path, content string) {
	GinkgoHelper()
	Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
	Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
}

func newMachine(uri, caCert, token string) *machine {
	root := GinkgoT().TempDir()
	m := &machine{Subject: diagnose.Subject{Host: system.NewHost(root), ConfigPath: filepath.Join(root, "config.yaml")}}
	m.settings = config.Config{
		Registration: config.Registration{URI: uri, CACert: caCert, Token: token},
		Agent:        config.Agent{WorkDir: workDir, OSPlugin: config.PluginElemental},
	}
	m.save()
	write(m.Host.Path("/proc/self/mountinfo"), rootLine+stateLine)
	return m
}

func (m *machine) save() {
	GinkgoHelper()
	Expect(config.Save(m.ConfigPath, m.settings)).To(Succeed())
}

// identify gives the host a name and a key.
func (m *machine) identify() *identity.Identity {
	GinkgoHelper()
	Expect(os.MkdirAll(m.Host.Path(workDir), 0o700)).To(Succeed())
	own, err := identity.Load(m.Host, m.Host.Path(workDir), config.Hostname{Prefix: "m-"})
	Expect(err).NotTo(HaveOccurred())
	return own
}

// register makes the API know the host.
func (m *machine) register(ctx SpecContext) {
	GinkgoHelper()
	transport, err := client.NewTransport(m.settings)
	Expect(err).NotTo(HaveOccurred())
	api := client.New(client.Options{
		URI: m.settings.Registration.URI, Token: m.settings.Registration.Token, Identity: m.identify(), Transport: transport, Clock: m.Host.Clock,
	})
	defer api.Close()
	Expect(api.Register(ctx)).To(Succeed())
}

func (m *machine) check(ctx SpecContext) (string, error) {
	out := &bytes.Buffer{}
	err := diagnose.Check(ctx, out, m.Subject)
	return out.String(), err
}

var _ = Describe("Check", func() {
	var (
		api *apitest.API
		m   *machine
	)
	BeforeEach(func() {
		api = apitest.New()
		DeferCleanup(api.Close)
		m = newMachine(api.URI(), api.CACert(), apitest.Token)
	})

	It("finds nothing wrong with a host that has not registered, and does not register it", func(ctx SpecContext) {
		printed, err := m.check(ctx)
		Expect(err).NotTo(HaveOccurred(), printed)
		Expect(printed).To(And(ContainSubstring("ok      persistence"), ContainSubstring("ok      clock"), ContainSubstring("there is none yet")))
		Expect(api.Hosts()).To(BeEmpty())
		Expect(m.Host.Path(workDir)).NotTo(BeADirectory())
	})

	It("says that the API does not know a host", func(ctx SpecContext) {
		own := m.identify()
		printed, err := m.check(ctx)
		Expect(err).To(MatchError(diagnose.ErrFailed))
		Expect(printed).To(MatchRegexp("FAILED +key .*there is no ElementalHost " + own.Name))
	})

	It("tells a wrong key from a wrong clock", func(ctx SpecContext) {
		m.register(ctx)
		for _, off := range []time.Duration{-time.Hour, time.Hour} {
			m.Host.Clock = wrongClock{off: off}
			printed, err := m.check(ctx)
			Expect(err).To(MatchError(diagnose.ErrFailed))
			Expect(printed).To(And(MatchRegexp("FAILED +clock .* (59m59s|1h0m[01]s) (behind|ahead of) the API"),
				MatchRegexp("FAILED +key .*while the clock is wrong")))
		}

		m.Host.Clock = system.WallClock{}
		printed, err := m.check(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(printed).To(MatchRegexp("ok +key .*knows the host m-"))

		Expect(os.Remove(filepath.Join(m.Host.Path(workDir), identity.KeyFile))).To(Succeed())
		m.identify()
		printed, err = m.check(ctx)
		Expect(err).To(MatchError(diagnose.ErrFailed))
		Expect(printed).To(And(MatchRegexp("ok +clock"), MatchRegexp("FAILED +key .*the clock is right, so the ElementalHost .* has another key")))
	})

	It("says that the registration's token is refused", func(ctx SpecContext) {
		api.Rotate()
		printed, err := m.check(ctx)
		Expect(err).To(MatchError(diagnose.ErrFailed))
		Expect(printed).To(And(MatchRegexp("FAILED +token .*copy registration.token again"), Not(ContainSubstring(apitest.Token))))
	})

	It("says that the authority is another", func(ctx SpecContext) {
		m.settings.Registration.CACert = ""
		m.save()
		printed, err := m.check(ctx)
		Expect(err).To(MatchError(diagnose.ErrFailed))
		Expect(printed).To(MatchRegexp("FAILED +api .*registration.caCert is not the authority"))
	})

	It("works without the network and without a configuration", func(ctx SpecContext) {
		api.Close()
		printed, err := m.check(ctx)
		Expect(err).To(MatchError(diagnose.ErrFailed))
		Expect(printed).To(And(MatchRegexp("ok +configuration"), MatchRegexp("FAILED +api .*check the host's network")))
		Expect(os.Remove(m.ConfigPath)).To(Succeed())
		printed, err = m.check(ctx)
		Expect(err).To(MatchError(diagnose.ErrFailed))
		Expect(printed).To(MatchRegexp("FAILED +configuration .*write what hack.print-agent-config.sh prints"))
	})
})

var _ = DescribeTable("A work directory",
	func(table, mode string, matched gomegatypes.GomegaMatcher) {
		host := system.NewHost(GinkgoT().TempDir())
		write(host.Path("/proc/self/mountinfo"), table)
		write(host.Path("/run/elemental/"+mode), "1")
		Expect(diagnose.Persistent(host, workDir)).To(matched)
	},
	Entry("on a partition", rootLine+stateLine, "active_mode", Succeed()),
	Entry("in memory", rootLine+"2 1 0:9 / /var rw - tmpfs tmpfs rw\n", "active_mode", MatchError(diagnose.ErrNotPersistent)),
	Entry("in memory on top of a partition", rootLine+stateLine+"3 2 0:9 / /var/lib/elemental rw - tmpfs tmpfs rw\n", "active_mode",
		MatchError(diagnose.ErrNotPersistent)),
	Entry("on an overlay in memory", rootLine+"2 1 0:8 / /run rw - tmpfs tmpfs rw\n3 1 0:9 / /var rw - overlay overlay rw,lowerdir=/var,upperdir=/run/o/var,workdir=/run/o/w\n",
		"active_mode", MatchError(diagnose.ErrNotPersistent)),
	Entry("on an overlay on a partition",
		rootLine+"2 1 8:3 / /run/p rw - ext4 /dev/sda3 rw\n3 1 0:9 / /var rw - overlay overlay rw,lowerdir=/var,upperdir=/run/p/var,workdir=/run/p/w\n",
		"active_mode", Succeed()),
	Entry("in the snapshot", rootLine, "passive_mode", MatchError(diagnose.ErrNotPersistent)),
	Entry("on a root without snapshots", rootLine, "other", Succeed()),
	Entry("of a host that cannot tell", "", "active_mode", MatchError(ContainSubstring("is empty"))),
)
