// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
)

func load(content string) (config.Config, error) {
	path := filepath.Join(GinkgoT().TempDir(), "config.yaml")
	Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
	return config.Load(path)
}

var _ = Describe("A configuration", func() {
	It("has the predecessor's keys", func() {
		loaded, err := load(`
registration: {uri: "https://api/elemental/v1", caCert: PEM, token: T, tokenDuration: 24h}
agent:
  workDir: /w
  hostname: {useExisting: true, prefix: p-}
  noSmbios: true
  debug: true
  osPlugin: dummy
  reconciliation: 3s
  stableWindow: 4s
  assessmentTimeout: 5m
  insecureAllowHttp: true
  insecureSkipTlsVerify: true
  useSystemCertPool: true
  postInstall: {powerOff: true}
  postReset: {reboot: true}
  somethingOfANewerVersion: 1
`)
		Expect(err).NotTo(HaveOccurred())
		Expect(loaded).To(Equal(config.Config{
			Registration: config.Registration{URI: "https://api/elemental/v1", CACert: "PEM", Token: "T", TokenDuration: "24h"},
			Agent: config.Agent{
				WorkDir: "/w", Hostname: config.Hostname{UseExisting: true, Prefix: "p-"}, NoSMBIOS: true, Debug: true,
				OSPlugin: "dummy", Reconciliation: config.Duration(3 * time.Second), StableWindow: config.Duration(4 * time.Second), AssessmentTimeout: config.Duration(5 * time.Minute), InsecureAllowHTTP: true,
				InsecureSkipTLSVerify: true, UseSystemCertPool: true,
				PostInstall: config.PostAction{PowerOff: true}, PostReset: config.PostAction{Reboot: true},
			},
		}))
		path := filepath.Join(GinkgoT().TempDir(), "again.yaml")
		Expect(config.Save(path, loaded)).To(Succeed())
		Expect(config.Load(path)).To(Equal(loaded))
	})

	It("is completed", func() {
		loaded, err := load(`registration: {uri: "https://api/x"}`)
		Expect(err).NotTo(HaveOccurred())
		Expect(loaded.Agent).To(Equal(config.Agent{
			WorkDir: "/var/lib/elemental/agent", Hostname: config.Hostname{Prefix: "m-"}, OSPlugin: "elemental",
			Reconciliation: config.Duration(10 * time.Second), StableWindow: config.Duration(30 * time.Second), AssessmentTimeout: config.Duration(10 * time.Minute),
		}))
	})

	It("can come from the API as JSON", func() {
		decoded, err := config.Decode([]byte(`{"registration":{"uri":"https://api/x"},"agent":{"reconciliation":"5s"}}`))
		Expect(err).NotTo(HaveOccurred())
		Expect(decoded.Agent.Reconciliation).To(Equal(config.Duration(5 * time.Second)))
	})

	DescribeTable("says what is wrong and what to do",
		func(content, message string) {
			_, err := load(content)
			Expect(err).To(MatchError(ContainSubstring(message)))
		},
		Entry("no URI", `agent: {}`, "registration.uri is missing: copy it"),
		Entry("an insecure registry that is none", `{registration: {uri: "https://api/x"}, agent: {insecureRegistries: [r.test, "http://r.test"]}}`,
			`agent.insecureRegistries[1] "http://r.test": use <registry> or <registry>/<beginning of the repository>`),
		Entry("http", `registration: {uri: "http://api/x"}`, `is not https: use https, or set agent.insecureAllowHttp`),
		Entry("another scheme", `registration: {uri: "ftp://api/x"}`, "the scheme has to be https"),
		Entry("no host", `registration: {uri: "https:///x"}`, "has no host"),
		Entry("relative directory", `{registration: {uri: "https://api/x"}, agent: {workDir: w}}`, `agent.workDir "w" has to be an absolute path`),
		Entry("plugin", `{registration: {uri: "https://api/x"}, agent: {osPlugin: windows}}`, `agent.osPlugin "windows" is not known: use`),
		Entry("an assessment that no boot can pass", `{registration: {uri: "https://api/x"}, agent: {assessmentTimeout: 59s}}`,
			"agent.assessmentTimeout 59s has to be from 1m0s to 1h0m0s"),
		Entry("an assessment without time to become good", `{registration: {uri: "https://api/x"}, agent: {stableWindow: 2m, assessmentTimeout: 3m}}`,
			"agent.assessmentTimeout 3m0s has to be from 4m0s to 1h0m0s: at least a minute, and twice agent.stableWindow"),
		Entry("an assessment that takes too long", `{registration: {uri: "https://api/x"}, agent: {assessmentTimeout: 61m}}`, "agent.assessmentTimeout 1h1m0s has to be"),
		Entry("window", `{registration: {uri: "https://api/x"}, agent: {stableWindow: 6m}}`, "agent.stableWindow 6m0s has to be from 0 to 5m0s"),
		Entry("duration", `{registration: {uri: "https://api/x"}, agent: {reconciliation: soon}}`, `"soon"`),
		Entry("not YAML", "\t", "decoding configuration"),
	)
})
