// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/etcd"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const patience = specs.Patience

// machine is a host, reduced to what etcd needs.
type machine struct {
	etcd.Options
	off context.CancelFunc
	ran sync.WaitGroup
}

func newMachine(name string, authority *pki.Authority) *machine {
	GinkgoHelper()
	m := &machine{Options: etcd.Options{
		Name: name, Address: "127.0.0.1", Root: GinkgoT().TempDir(), Binary: filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "etcd"),
	}}
	Expect(pki.WriteFiles(filepath.Join(m.Root, "etc/kubernetes/pki/etcd"),
		map[string][]byte{"ca.crt": authority.CertPEM, "ca.key": authority.KeyPEM})).To(Succeed())
	Expect(os.MkdirAll(filepath.Join(m.Root, "lab"), 0o755)).To(Succeed())
	return m
}

// on runs the member until powerOff.
func (m *machine) on(member *etcd.Member) {
	ctx, off := context.WithCancel(context.Background())
	m.off = off
	m.ran.Go(func() { member.Run(ctx) })
	DeferCleanup(m.powerOff)
}

func (m *machine) powerOff() {
	m.off()
	m.ran.Wait()
}

// boot runs the member that an earlier boot created.
func (m *machine) boot() *etcd.Member {
	GinkgoHelper()
	member, err := etcd.Load(m.Options)
	Expect(err).NotTo(HaveOccurred())
	m.on(member)
	return member
}

var _ = Describe("Members of etcd", func() {
	It("form a cluster that tolerates the loss of one, and waits for a quorum after the loss of two", func(ctx SpecContext) {
		authority, err := pki.NewAuthority("etcd-ca")
		Expect(err).NotTo(HaveOccurred())
		machines := []*machine{newMachine("a", authority), newMachine("b", authority), newMachine("c", authority)}
		first, err := etcd.Create(machines[0].Options)
		Expect(err).NotTo(HaveOccurred())
		machines[0].on(first)
		Expect(first.AwaitReady(ctx)).To(Succeed())
		for _, m := range machines[1:] {
			member, err := etcd.Join(ctx, m.Options, []string{first.ClientURL()})
			Expect(err).NotTo(HaveOccurred())
			m.on(member)
			Expect(member.Promote(ctx, []string{first.ClientURL()})).To(Succeed())
			Expect(member.AwaitReady(ctx)).To(Succeed())
		}

		client, err := etcd.Open(machines[0].Root, machines[1].Root, machines[2].Root)
		Expect(err).NotTo(HaveOccurred())
		members, err := client.Members(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(members).To(HaveExactElements(HaveField("IsLearner", false), HaveField("IsLearner", false), HaveField("IsLearner", false)))
		Expect(client.Put(ctx, "key", "1")).To(Succeed())

		machines[0].powerOff()
		Eventually(client.Put, patience).WithContext(ctx).WithArguments("key", "2").Should(Succeed())
		machines[1].powerOff()
		Expect(client.Put(ctx, "key", "3")).NotTo(Succeed())
		Expect(first.Ready(ctx)).NotTo(Succeed())

		Expect(machines[1].boot().AwaitReady(ctx)).To(Succeed())
		Expect(machines[0].boot().AwaitReady(ctx)).To(Succeed())
		Expect(client.Get(ctx, "key")).To(Or(Equal("2"), Equal("3")), "what was acknowledged is there")
	}, NodeTimeout(2*patience))

	It("need the CA from the bootstrap data", func() {
		_, err := etcd.Create(etcd.Options{Name: "a", Address: "127.0.0.1", Root: GinkgoT().TempDir()})
		Expect(err).To(MatchError(ContainSubstring("reading etcd's authority")))
	})

	It("are not loaded on a host that has none", func() {
		Expect(etcd.Load(etcd.Options{Root: GinkgoT().TempDir()})).To(BeNil())
	})
})
