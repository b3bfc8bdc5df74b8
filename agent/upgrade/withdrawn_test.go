// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// interrupted does something when the host is asked for its facts, which then cannot be had.
type interrupted struct {
	osplugin.Plugin
	act func(context.Context)
}

func (i *interrupted) Facts(ctx context.Context) (osplugin.Facts, error) {
	i.act(ctx)
	return osplugin.Facts{}, errBusy
}

var _ = Describe("An error", func() {
	var (
		w         *world
		dir       string
		withdrawn chan struct{}
	)
	BeforeEach(func() { w, dir, withdrawn = newWorld(), memoryDir(), make(chan struct{}) })

	// advance an attempt whose facts cannot be had, after something has happened.
	advance := func(ctx context.Context, act func(context.Context)) error {
		GinkgoHelper()
		machine := w.agent(dir)
		machine.Plugin = &interrupted{Plugin: w, act: act}
		return machine.Advance(ctx, wanted("a1"), &upgrade.Interrupts{Withdrawn: withdrawn})
	}

	It("of a preparation is told of", func(ctx SpecContext) {
		Expect(advance(ctx, func(context.Context) {})).To(MatchError(errBusy))
	})
	It("of a preparation is told of when the agent ends", func(ctx SpecContext) {
		ending, end := context.WithCancel(ctx)
		Expect(advance(ending, func(context.Context) { end() })).To(MatchError(errBusy))
	})
	It("of a preparation that is withdrawn is none", func(ctx SpecContext) {
		Expect(advance(ctx, func(preparing context.Context) {
			close(withdrawn)
			<-preparing.Done()
		})).To(Succeed())
	}, SpecTimeout(specs.Patience))
	It("of keeping the attempt is told of", func(ctx SpecContext) {
		machine := w.agent(dir)
		Expect(os.MkdirAll(filepath.Join(dir, upgrade.MarkerFile, "in-the-way"), 0o700)).To(Succeed())
		Expect(machine.Advance(ctx, wanted("a1"), nil)).NotTo(Succeed())
	})
	It("of an attempt in flight is told of although that is withdrawn: it has to be tried again", func(ctx SpecContext) {
		Expect(w.agent(dir).Advance(ctx, wanted("a1"), nil)).To(MatchError(errRebooted))
		Expect(w.agent(dir).Marker().InFlight()).To(BeTrue())
		close(withdrawn)
		Expect(advance(ctx, func(context.Context) {})).To(MatchError(errBusy))
		Expect(w.agent(dir).Advance(ctx, wanted("a1"), &upgrade.Interrupts{Withdrawn: withdrawn})).To(Succeed())
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded), "an attempt in flight goes on")
	})
})
