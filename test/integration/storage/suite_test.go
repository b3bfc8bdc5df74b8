// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/storage"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// patience is the timeout for what has to happen, calm is how long something must not happen.
	patience = specs.Patience
	calm     = 5 * time.Second
)

// The suite has one cluster with three workers, with Longhorn and KubeVirt.
var (
	theLab   *lab.Lab
	cluster  *scenario.Cluster
	longhorn *storage.Longhorn
)

func TestStorage(t *testing.T) {
	SetDefaultConsistentlyDuration(calm)
	specs.Run(t, "Storage")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{KubeVirt: true, WorkloadAccount: true})
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{Workers: 3, Spare: 1})
	var err error
	longhorn, err = storage.NewLonghorn(ctx, theLab.WorkloadKube, clock.RealClock{})
	Expect(err).NotTo(HaveOccurred())
	following, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		longhorn.Follow(following)
	}()
	DeferCleanup(func() {
		stop()
		<-done
	})
})

var _ = ReportAfterEach(func(report SpecReport) {
	if report.Failed() && longhorn != nil {
		GinkgoWriter.Println("Longhorn's double:", longhorn.Err())
	}
})

// nodeNames are the workers, by name.
func nodeNames(ctx context.Context) []string {
	GinkgoHelper()
	workers, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	names := []string{}
	for _, worker := range workers {
		names = append(names, worker.Node)
	}
	return names
}

// underway is the attempt that has the slot; nil if none has it.
func underway(ctx context.Context) (*infrav1.ElementalHostUpgrade, error) {
	attempts, err := cluster.Attempts(ctx)
	for i := range attempts {
		if conditions.IsTrue(&attempts[i], infrav1.UpgradeAdmittedCondition) {
			return &attempts[i], err
		}
	}
	return nil, err
}

// says is the position and the message of the attempt that has the slot.
func says(ctx context.Context) (string, error) {
	attempt, err := underway(ctx)
	if err != nil || attempt == nil {
		return "", err
	}
	return attempt.Status.Position() + ": " + attempt.Status.Message, nil
}

// replenishment is Longhorn's setting, and whether an attempt has changed it.
type replenishment struct {
	Value string
	Held  bool
}

func setting(ctx context.Context) (replenishment, error) {
	value, annotations, err := longhorn.Replenishment(ctx)
	_, held := annotations[infrav1.ReplenishmentAnnotation]
	return replenishment{value, held}, err
}

var (
	raised   = replenishment{"1800", true}
	restored = replenishment{storage.DefaultReplenishment, false}
)
