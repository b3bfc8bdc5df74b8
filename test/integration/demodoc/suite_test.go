// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package demodoc_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// calm is how long something must not happen.
	calm = 5 * time.Second
	pool = "kubeadm-md-0"
)

func TestDemoDocument(t *testing.T) {
	specs.Run(t, "Demo document")
}

var theLab *lab.Lab

var _ = BeforeSuite(func(ctx SpecContext) { theLab = suite.StartLab(ctx, lab.Options{}) })

// running are the cluster's Machines that are Running: those of the MachineDeployment, or all.
func running(ctx context.Context, labels client.MatchingLabels) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	if err := theLab.Kube.List(ctx, list, client.InNamespace("default"), labels); err != nil {
		return nil, err
	}
	found := []clusterv1.Machine{}
	for _, machine := range list.Items {
		if machine.Status.Phase == "Running" && machine.Status.NodeRef.IsDefined() {
			found = append(found, machine)
		}
	}
	if len(found) != len(list.Items) {
		return nil, nil
	}
	return found, nil
}

// workers are the Machines of the MachineDeployment, once all of them are Running.
func workers(ctx context.Context) ([]clusterv1.Machine, error) {
	return running(ctx, client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: pool})
}

func host(ctx context.Context, name string) (*infrav1.ElementalHost, error) {
	object := &infrav1.ElementalHost{}
	return object, theLab.Kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, object)
}

// freeHosts are the names of those that serve no Machine and are available.
func freeHosts(ctx context.Context) ([]string, error) {
	list := &infrav1.ElementalHostList{}
	err := theLab.Kube.List(ctx, list, client.InNamespace("default"))
	free := []string{}
	for i := range list.Items {
		one := &list.Items[i]
		if one.Status.Installed && one.Spec.MachineRef == nil && !one.Status.Bootstrapped && one.DeletionTimestamp.IsZero() {
			free = append(free, one.Name)
		}
	}
	return free, err
}

// run matches a host that booted an image.
func run(os image.Image) OmegaMatcher {
	return And(HaveField("Status.OS.Digest", os.PlatformDigest), HaveField("Status.OS.BootMode", "active"))
}

func push(ctx context.Context, tag, version string) image.Image {
	GinkgoHelper()
	pushed, err := theLab.Registry.Push(ctx, "elemental-os", tag, image.OS{Version: version, KubeletVersion: kubernetesVersion})
	Expect(err).NotTo(HaveOccurred())
	return pushed
}
