// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// clusterName as in the walk-through that the templates are generated from.
	clusterName = "kubeadm"
	// pool is the MachineDeployment and the ElementalMachineTemplate of the workers.
	pool    = clusterName + "-md-0"
	workers = 2
)

// newCluster creates a cluster of the flavor kubeadm, as docs/first-cluster.md describes: generate, add selectors,
// apply.
func newCluster(ctx context.Context) *scenario.Cluster {
	GinkgoHelper()
	return suite.NewCluster(ctx, source.Lab, scenario.Options{
		Name: clusterName, Workers: workers, ControlPlane: 1,
		Manifest: func(ctx context.Context, c *scenario.Cluster) (string, error) {
			source.image = c.Image.URI()
			generated, err := source.run(ctx, "generate", "cluster", clusterName, "--infrastructure", "elemental", "--flavor", "kubeadm",
				"--target-namespace", c.Namespace(), "--kubernetes-version", scenario.KubernetesVersion,
				"--control-plane-machine-count", "1", "--worker-machine-count", fmt.Sprint(workers))
			if err != nil {
				return "", err
			}
			return withSelectors(c, generated)
		},
	})
}

// withSelectors restricts the control plane to the hosts of its registration, and the workers to those of theirs.
func withSelectors(c *scenario.Cluster, generated string) (string, error) {
	objects, err := capi.Parse([]byte(generated))
	if err != nil {
		return "", err
	}
	racks := map[string]string{clusterName + "-control-plane": clusterName + "-control-plane", pool: "r1"}
	text := &bytes.Buffer{}
	for _, object := range objects {
		if rack := racks[object.GetName()]; object.GetKind() == "ElementalMachineTemplate" {
			err := unstructured.SetNestedField(object.Object, rack, "spec", "template", "spec", "selector", "matchLabels", "rack")
			if err != nil {
				return "", err
			}
		}
		encoded, err := yaml.Marshal(object.Object)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(text, "---\n%s", encoded)
	}
	file := filepath.Join(c.Lab.Dir(), "generated.yaml")
	return file, os.WriteFile(file, text.Bytes(), 0o600)
}

// on is the same cluster, managed by another management cluster.
func on(p *plane, cluster *scenario.Cluster) *scenario.Cluster {
	seen := *cluster
	seen.Lab = p.Lab
	seen.Options.Workload = &lab.Workload{Cluster: source.Workload, Kube: source.WorkloadKube}
	return &seen
}

func getDeployment(ctx context.Context, cluster *scenario.Cluster) (*clusterv1.MachineDeployment, error) {
	md := &clusterv1.MachineDeployment{}
	return md, cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: pool}, md)
}

var _ = Describe("A cluster of the flavor kubeadm", Ordered, func() {
	var cluster *scenario.Cluster

	BeforeAll(func(ctx SpecContext) { cluster = newCluster(ctx) })

	// A host of the cluster that booted more often than expected was reset or upgraded.
	boots := func() map[string]int {
		found := map[string]int{}
		for _, host := range source.Hosts() {
			found[host.Name()] = len(host.Boots())
		}
		return found
	}

	Describe("clusterctl", Ordered, func() {
		It("describe cluster shows its parts", func(ctx SpecContext) {
			said := source.ctl(ctx, "describe", "cluster", clusterName, "--namespace", clusterName, "--show-conditions", "all")
			Expect(said).NotTo(BeEmpty())
			// The Cluster sums up what its parts say, after they say it.
			Eventually(func() string {
				return source.ctl(ctx, "describe", "cluster", clusterName, "--namespace", clusterName)
			}).WithContext(ctx).Should(And(
				MatchRegexp(`(?m)^Cluster kubeadm/kubeadm +3/3 .* True +Available`),
				MatchRegexp(`├─ElementalCluster kubeadm/kubeadm +True +Ready`),
				MatchRegexp(`├─KubeadmControlPlane kubeadm/kubeadm-control-plane, v1.36.3 +1/1 .* True +Available`),
				MatchRegexp(`MachineDeployment kubeadm/kubeadm-md-0, v1.36.3 +2/2 .* True +Available`),
			))
		})

		It("alpha rollout pause and resume pause and unpause the owners of Machines", func(ctx SpecContext) {
			resources := []string{"machinedeployment/" + pool, "kubeadmcontrolplane/" + clusterName + "-control-plane"}
			for _, resource := range resources {
				source.ctl(ctx, "alpha", "rollout", "pause", resource, "--namespace", clusterName)
			}
			Expect(getDeployment(ctx, cluster)).To(HaveField("Spec.Paused", HaveValue(BeTrue())))
			for _, resource := range resources {
				source.ctl(ctx, "alpha", "rollout", "resume", resource, "--namespace", clusterName)
			}
			Expect(getDeployment(ctx, cluster)).To(HaveField("Spec.Paused", Or(BeNil(), HaveValue(BeFalse()))))
		})

		It("alpha rollout restart replaces Machines, and the message says so", func(ctx SpecContext) {
			before, err := cluster.PoolMachines(ctx, pool)
			Expect(err).NotTo(HaveOccurred())
			names := []string{}
			for i := range before {
				names = append(names, before[i].Name)
			}
			booted := boots()
			source.ctl(ctx, "alpha", "rollout", "restart", "machinedeployment/"+pool, "--namespace", clusterName)
			Eventually(func(g Gomega) {
				now, err := cluster.PoolMachines(ctx, pool)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(now).To(HaveLen(workers))
				for i := range now {
					g.Expect(names).NotTo(ContainElement(now[i].Name))
					g.Expect(now[i].Status.Phase).To(Equal("Running"))
				}
			}, 2*specs.Patience).WithContext(ctx).Should(Succeed())
			for name, former := range booted {
				if name != cluster.ControlPlaneHostName(1) {
					Expect(boots()[name]).To(BeNumerically(">", former), "%s was reset", name)
				}
			}
		})
	})

	describeMoves(func() *scenario.Cluster { return cluster }, boots)
	// Runs last, because a cluster must not be moved to a management cluster with an older release.
	describeUpgrade(func() *scenario.Cluster { return cluster }, boots)
})
