// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package dummy_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin/dummy"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("A dummy OS", func() {
	ctx := context.Background()

	open := func(dir string) *dummy.Plugin {
		GinkgoHelper()
		plugin := dummy.New(dir)
		Expect(plugin.Init(ctx)).To(Succeed())
		return plugin
	}
	facts := func(plugin *dummy.Plugin) osplugin.Facts {
		GinkgoHelper()
		found, err := plugin.Facts(ctx)
		Expect(err).NotTo(HaveOccurred())
		return found
	}
	write := func(plugin *dummy.Plugin, uri string) {
		GinkgoHelper()
		request := osplugin.Upgrade{Attempt: "a1", Image: "dummy/os@" + dummy.Digest(uri), Version: wire.OSVersion{ImageURI: uri}}
		Expect(plugin.Upgrade(ctx, request)).To(BeZero())
		Expect(plugin.Written(ctx, "a1", dummy.Digest(uri))).To(BeEquivalentTo(2))
	}

	It("is the same after a restart and another boot after a reboot", func() {
		dir := GinkgoT().TempDir()
		plugin := open(dir)
		before := facts(plugin)
		Expect(facts(open(dir))).To(Equal(before))
		Expect(plugin.Reboot(ctx)).To(MatchError(osplugin.ErrRestart))
		Expect(facts(open(dir)).BootID).NotTo(Equal(before.BootID))
	})

	It("flips the default when it is written, and boots it", func() {
		plugin := open(GinkgoT().TempDir())
		write(plugin, "oci:2")
		Expect(facts(plugin).Snapshot).To(BeEquivalentTo(1))
		Expect(plugin.Reboot(ctx)).To(MatchError(osplugin.ErrRestart))
		Expect(facts(plugin)).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("Mode", osplugin.ModeActive)))
		Expect(plugin.BootAlways(ctx, 1, 2)).To(Succeed())
		Expect(plugin.Reboot(ctx)).To(MatchError(osplugin.ErrRestart))
		Expect(facts(plugin)).To(And(HaveField("Snapshot", BeEquivalentTo(1)), HaveField("Mode", osplugin.ModeActive)))
	})

	It("falls back from an image that says it cannot be booted", func() {
		plugin := open(GinkgoT().TempDir())
		write(plugin, "oci:unbootable")
		Expect(plugin.Reboot(ctx)).To(MatchError(osplugin.ErrRestart))
		Expect(facts(plugin)).To(And(HaveField("Snapshot", BeEquivalentTo(1)), HaveField("Mode", osplugin.ModePassive)))
	})
})
