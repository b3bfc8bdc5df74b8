// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// patience is for something that has to happen soon, calm for how long something must not happen.
	patience = 90 * time.Second
	calm     = 8 * time.Second
	look     = 200 * time.Millisecond
)

func TestControlPlane(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Control plane")
}

// startLab starts a lab for the specs of a container, and stops it after the last.
func startLab(ctx context.Context, options lab.Options) *lab.Lab {
	GinkgoHelper()
	options.Progress = GinkgoWriter
	l, err := lab.Start(ctx, options)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		defer l.Stop()
		Expect(l.Err()).NotTo(HaveOccurred(), "no process died by itself")
		Expect(audit.Forbidden(auditOf(l.Management), lab.ManagerUser)).To(BeEmpty(), "the manager has all the rights it uses")
	})
	return l
}

// newCluster creates a cluster in the lab, with all its workers running.
func newCluster(ctx context.Context, l *lab.Lab, options scenario.Options) *scenario.Cluster {
	GinkgoHelper()
	cluster := scenario.New(l, options)
	cluster.Told = func(command string) { GinkgoWriter.Println("$", command) }
	Expect(cluster.Create(ctx)).To(Succeed())
	return cluster
}

// auditOf reads the audit log of a cluster.
func auditOf(cluster *kube.Cluster) []auditv1.Event {
	GinkgoHelper()
	events, err := audit.Read(cluster.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	return events
}

// expectKept asserts what must hold after anything that is not a replacement.
func expectKept(ctx context.Context, cluster *scenario.Cluster, before []scenario.Identity) {
	GinkgoHelper()
	Expect(cluster.Identities(ctx)).To(Equal(before), "every Machine, Node name and provider ID is the same")
	Expect(audit.Deleted(auditOf(cluster.Lab.Management), "machines")).To(BeEmpty(), "no Machine was deleted")
}
