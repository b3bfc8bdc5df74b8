// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	patience = specs.Patience
	look     = 100 * time.Millisecond
)

// theLab is started once: its clusters are not changed except for what each container of specs
// creates.
var theLab *lab.Lab

func TestLab(t *testing.T) {
	SetDefaultEventuallyPollingInterval(look)
	specs.Run(t, "Lab")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	theLab, err = lab.Start(ctx, lab.Options{WithoutProvider: true, Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(theLab.Stop)
})
