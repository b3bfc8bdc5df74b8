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
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// patience is for something that has to happen soon, calm for how long something must not happen.
	patience = 3 * time.Minute
	calm     = 8 * time.Second
	look     = 200 * time.Millisecond
)

// theLab is shared by all specs.
var theLab *lab.Lab

func TestControlPlane(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Control plane")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	theLab, err = lab.Start(ctx, lab.Options{Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { theLab.Stop() })
})

var _ = AfterSuite(func() {
	if theLab == nil {
		return
	}
	Expect(theLab.Err()).NotTo(HaveOccurred(), "no process died by itself")
	management := auditOf(theLab.Management)
	Expect(audit.Forbidden(management, lab.ManagerUser)).To(BeEmpty(), "the manager has all the rights it uses")
	Expect(audit.Deleted(management, "machines")).To(BeEmpty(), "no Machine was ever deleted")
})

// newCluster creates a cluster in the lab, with all its nodes running.
func newCluster(ctx context.Context, options scenario.Options) *scenario.Cluster {
	GinkgoHelper()
	cluster := scenario.New(theLab, options)
	cluster.Told = func(command string) { GinkgoWriter.Println("$", command) }
	Expect(cluster.Create(ctx)).To(Succeed())
	return cluster
}

func push(ctx context.Context, cluster *scenario.Cluster, tag string, os image.OS) image.Image {
	GinkgoHelper()
	pushed, err := cluster.PushImage(ctx, tag, os)
	Expect(err).NotTo(HaveOccurred())
	return pushed
}

// auditOf reads the audit log of a cluster.
func auditOf(cluster *kube.Cluster) []auditv1.Event {
	GinkgoHelper()
	events, err := audit.Read(cluster.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	return events
}

// said is what the template of the control plane says by a condition.
type said struct{ Status, Reason, Message string }

func says(ctx context.Context, cluster *scenario.Cluster, condition string) (said, error) {
	template := &infrav1.ElementalMachineTemplate{}
	err := cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.ControlPlaneTemplate}, template)
	found := conditions.Get(template, condition)
	if err != nil || found == nil {
		return said{}, err
	}
	return said{string(found.Status), found.Reason, found.Message}, nil
}

// reference is the template that the KubeadmControlPlane refers to.
func reference(ctx context.Context, cluster *scenario.Cluster) (string, error) {
	kcp, err := cluster.KubeadmControlPlane(ctx)
	return kcp.Spec.MachineTemplate.Spec.InfrastructureRef.Name, err
}
