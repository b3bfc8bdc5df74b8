// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vanish_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// patience is for something that has to happen soon, calm for how long something must not happen.
	patience = 2 * time.Minute
	calm     = 5 * time.Second
	look     = 50 * time.Millisecond
	// writing is how many seconds writing an image takes where something is to happen meanwhile.
	writing = 3
)

var (
	theLab *lab.Lab
	// small has one worker and a spare host; each of its specs leaves it so. Others have clusters of their own.
	small *scenario.Cluster
	// pushed counts the images, for their tags.
	pushed int
)

func TestVanish(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Vanish")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	theLab, err = lab.Start(ctx, lab.Options{Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		defer theLab.Stop()
		Expect(theLab.Err()).NotTo(HaveOccurred(), "no process died by itself")
		Expect(audit.Forbidden(auditOf(theLab.Management), lab.ManagerUser)).To(BeEmpty(), "the manager has all the rights it uses")
	})
	small = newCluster(ctx, scenario.Options{Name: "small", Workers: 1, Spare: 1})
})

// What went wrong is in the objects and in what the manager says.
var _ = ReportAfterEach(func(ctx SpecContext, report SpecReport) {
	if !report.Failed() || theLab == nil {
		return
	}
	said, err := theLab.Kubectl(ctx, "get", "--all-namespaces", "elementalhostupgrades,elementalhosts,elementalmachines,machines", "--output", "yaml")
	GinkgoWriter.Println(said, err, process.Tail(theLab.Provider.Process.LogFile()))
})

// newCluster creates a cluster with all its workers running.
func newCluster(ctx context.Context, options scenario.Options) *scenario.Cluster {
	GinkgoHelper()
	cluster := scenario.New(theLab, options)
	cluster.Told = func(command string) { GinkgoWriter.Println("$", command) }
	Expect(cluster.Create(ctx)).To(Succeed())
	return cluster
}

// push makes a new image.
func push(ctx context.Context, cluster *scenario.Cluster, os image.OS) image.Image {
	GinkgoHelper()
	pushed++
	made, err := cluster.PushImage(ctx, fmt.Sprintf("r%d", pushed), os)
	Expect(err).NotTo(HaveOccurred())
	return made
}

// auditOf reads the audit log of a cluster.
func auditOf(cluster *kube.Cluster) []auditv1.Event {
	GinkgoHelper()
	events, err := audit.Read(cluster.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	return events
}
