// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"time"

	"github.com/golang-jwt/jwt/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

var _ = Describe("An identity", func() {
	var (
		host *system.Host
		dir  string
	)
	BeforeEach(func() {
		host = system.NewHost(GinkgoT().TempDir())
		dir = host.Path("/work")
	})

	It("is made once, and private", func() {
		first, err := identity.Load(host, dir, config.Hostname{Prefix: "m-"})
		Expect(err).NotTo(HaveOccurred())
		Expect(first.Name).To(MatchRegexp(`^m-[0-9a-f]{32}$`))
		info, err := os.Stat(filepath.Join(dir, identity.KeyFile))
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode().Perm()).To(BeEquivalentTo(0o600))
		again, err := identity.Load(host, dir, config.Hostname{Prefix: "other-"})
		Expect(err).NotTo(HaveOccurred())
		Expect(again).To(Equal(first))
		Expect(identity.Remove(dir)).To(Succeed())
		Expect(identity.Exists(dir)).To(BeFalse())
	})

	It("keeps its name when it was cut off before it had a key", func() {
		first, err := identity.Load(host, dir, config.Hostname{Prefix: "m-"})
		Expect(err).NotTo(HaveOccurred())
		Expect(os.Remove(filepath.Join(dir, identity.KeyFile))).To(Succeed())
		again, err := identity.Load(host, dir, config.Hostname{Prefix: "m-"})
		Expect(err).NotTo(HaveOccurred())
		Expect(again.Name).To(Equal(first.Name))
		Expect(again.PublicKey()).NotTo(Equal(must(first.PublicKey())))
	})

	It("is that of the predecessor's agent, which kept its name in /etc/hostname only", func() {
		first, err := identity.Load(host, dir, config.Hostname{Prefix: "m-"})
		Expect(err).NotTo(HaveOccurred())
		Expect(os.Remove(filepath.Join(dir, identity.NameFile))).To(Succeed())
		Expect(system.WriteFile(host.Path("/etc/hostname"), []byte("m-b5cc6b1d\n"), 0o644)).To(Succeed())
		again, err := identity.Load(host, dir, config.Hostname{Prefix: "m-"})
		Expect(err).NotTo(HaveOccurred())
		Expect(again.Name).To(Equal("m-b5cc6b1d"))
		Expect(again.PublicKey()).To(Equal(must(first.PublicKey())))
	})

	DescribeTable("takes the name that the host has",
		func(hostname, name, problem string) {
			Expect(os.MkdirAll(host.Path("/etc"), 0o755)).To(Succeed())
			Expect(os.WriteFile(host.Path("/etc/hostname"), []byte(hostname), 0o600)).To(Succeed())
			found, err := identity.Load(host, dir, config.Hostname{UseExisting: true})
			if problem != "" {
				Expect(err).To(MatchError(ContainSubstring(problem)))
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(found.Name).To(Equal(name))
		},
		Entry("short", "host-1\n", "host-1", ""),
		Entry("qualified, in capitals", "Host-1.Example.COM\n", "host-1", ""),
		Entry("empty", "\n", "", "agent.hostname.useExisting is set, but /etc/hostname is missing or empty"),
		Entry("not a label", "host_1\n", "", `host name "host_1" is not usable`),
	)

	It("signs tokens for one audience, for a minute", func() {
		host, err := identity.Load(host, dir, config.Hostname{Prefix: "m-"})
		Expect(err).NotTo(HaveOccurred())
		now := time.Now().Truncate(time.Second)
		token, err := host.Token("https://api/x", now)
		Expect(err).NotTo(HaveOccurred())
		block, _ := pem.Decode([]byte(must(host.PublicKey())))
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		Expect(err).NotTo(HaveOccurred())
		claims := jwt.RegisteredClaims{}
		_, err = jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return key, nil }, jwt.WithValidMethods([]string{"EdDSA"}))
		Expect(err).NotTo(HaveOccurred())
		Expect(claims.Subject).To(Equal(host.Name))
		Expect(claims.Audience).To(Equal(jwt.ClaimStrings{"https://api/x"}))
		Expect(claims.ExpiresAt.Time).To(BeTemporally("==", now.Add(time.Minute)))
		Expect(claims.NotBefore.Time).To(BeTemporally("==", now.Add(-2*time.Second)))
	})

	DescribeTable("says what is wrong with a key",
		func(content, problem string) {
			Expect(system.WriteFile(filepath.Join(dir, identity.KeyFile), []byte(content), 0o600)).To(Succeed())
			_, err := identity.Load(host, dir, config.Hostname{})
			Expect(err).To(MatchError(ContainSubstring(problem)))
		},
		Entry("not PEM", "x", "it is not PEM; remove it to make the host a new one"),
		Entry("not a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "decoding host key"),
	)
})

func must(value string, err error) string {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}
