// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"bytes"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("Status", func() {
	var (
		host     *system.Host
		settings config.Config
		printed  *bytes.Buffer
	)
	BeforeEach(func() {
		host, printed = system.NewHost(GinkgoT().TempDir()), &bytes.Buffer{}
		settings = config.Config{Registration: config.Registration{URI: "https://api.example.com/r"}, Agent: config.Agent{WorkDir: "/var/lib/agent"}}
	})

	It("shows the key that the API knows the host by", func() {
		workDir := host.Path(settings.Agent.WorkDir)
		Expect(os.MkdirAll(workDir, 0o700)).To(Succeed())
		own, err := identity.Load(host, workDir, config.Hostname{Prefix: "m-"})
		Expect(err).NotTo(HaveOccurred())
		key, err := own.PublicKey()
		Expect(err).NotTo(HaveOccurred())

		Expect(agent.Status(printed, host, settings)).To(Succeed())
		Expect(printed.String()).To(Equal("Name:          " + own.Name + "\nRegistration:  https://api.example.com/r\nKey:           " + wire.KeyFingerprint(key) + "\n"))
	})

	It("makes no key where there is none", func() {
		Expect(agent.Status(printed, host, settings)).To(Succeed())
		Expect(printed.String()).To(ContainSubstring("has not registered"))
		Expect(filepath.Join(host.Path(settings.Agent.WorkDir), identity.KeyFile)).NotTo(BeAnExistingFile())
	})
})
