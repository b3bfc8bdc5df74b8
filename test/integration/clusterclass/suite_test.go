// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterclass_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// patience is for something that has to happen soon, calm for how long something must not happen.
	patience = 2 * time.Minute
	calm     = 4 * time.Second
	look     = 200 * time.Millisecond
)

func TestClusterClass(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "ClusterClass")
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

func push(ctx context.Context, cluster *scenario.Cluster, tag string, os image.OS) image.Image {
	GinkgoHelper()
	pushed, err := cluster.PushImage(ctx, tag, os)
	Expect(err).NotTo(HaveOccurred())
	return pushed
}

// deployment is the one MachineDeployment of the cluster; the topology has made up its name.
func deployment(ctx context.Context, cluster *scenario.Cluster) (*clusterv1.MachineDeployment, error) {
	list := &clusterv1.MachineDeploymentList{}
	if err := cluster.Lab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace())); err != nil {
		return nil, err
	}
	Expect(list.Items).To(HaveLen(1))
	return &list.Items[0], nil
}

// reference of the MachineDeployment to its ElementalMachineTemplate.
func reference(ctx context.Context, cluster *scenario.Cluster) (string, error) {
	md, err := deployment(ctx, cluster)
	if err != nil {
		return "", err
	}
	return md.Spec.Template.Spec.InfrastructureRef.Name, nil
}
