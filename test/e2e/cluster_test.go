// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// shape of a cluster to create.
type shape struct {
	// spec is the name of the specs that use it, in names, logs and intervals.
	spec string
	// flavor of the release's cluster template.
	flavor                string
	controlPlane, workers int64
}

// cluster is shared by specs; its hosts are registered in its own namespace.
type cluster struct {
	shape
	name      string
	namespace *corev1.Namespace
	// managedBy is the management cluster that it is in.
	managedBy framework.ClusterProxy
	clusterctl.ApplyClusterTemplateAndWaitResult
}

// newCluster creates a cluster as a person does: hosts register and are approved, and clusterctl generates the cluster
// from the template. After its specs it is dumped and deleted.
func newCluster(ctx context.Context, wanted shape) *cluster {
	GinkgoHelper()
	c := &cluster{shape: wanted, name: wanted.spec + "-" + util.RandomString(6), managedBy: management}
	c.makeNamespace()
	variables := env.prepare(ctx, c.namespace.Name, c.name)
	c.addHosts(ctx)

	variables[imageInstalled] = config.MustGetVariable(imageInstalled)
	if c.controlPlane >= 3 {
		variables["CONTROL_PLANE_MAX_SURGE"] = "0" // enables in-place upgrades; KubeadmControlPlane rejects it with fewer replicas
	}
	clusterctl.ApplyClusterTemplateAndWait(ctx, clusterctl.ApplyClusterTemplateAndWaitInput{
		ClusterProxy: management,
		ConfigCluster: clusterctl.ConfigClusterInput{
			LogFolder: filepath.Join(artifacts, "clusters", management.GetName()), ClusterctlConfigPath: clusterctlConfig,
			KubeconfigPath: management.GetKubeconfigPath(), InfrastructureProvider: provider(), Flavor: c.flavor,
			Namespace: c.namespace.Name, ClusterName: c.name, KubernetesVersion: config.MustGetVariable(kubernetesVersion),
			ControlPlaneMachineCount: &c.controlPlane, WorkerMachineCount: &c.workers, ClusterctlVariables: variables,
		},
		CNIManifestPath:              config.GetVariableOrEmpty("CNI"),
		WaitForClusterIntervals:      c.intervals("wait-cluster"),
		WaitForControlPlaneIntervals: c.intervals("wait-control-plane"),
		WaitForMachineDeployments:    c.intervals("wait-worker-nodes"),
	}, &c.ApplyClusterTemplateAndWaitResult)
	return c
}

// provider is our provider with its version, which clusterctl finds out by itself only where it has installed the
// provider.
func provider() string {
	return "elemental:" + config.GetProviderVersions("elemental")[0]
}

func (c *cluster) intervals(key string) []any { return config.GetIntervals(c.spec, key) }

// makeNamespace creates a namespace that is opted in to in-place upgrades.
func (c *cluster) makeNamespace() {
	GinkgoHelper()
	namespace, cancel := framework.CreateNamespaceAndWatchEvents(background, framework.CreateNamespaceAndWatchEventsInput{
		Creator: management.GetClient(), ClientSet: management.GetClientSet(), Name: c.name,
		LogFolder: filepath.Join(artifacts, "clusters", management.GetName()),
		Labels:    map[string]string{infrav1.ExtensionNamespaceLabel: infrav1.ExtensionNamespaceEnabled},
	})
	c.namespace = namespace
	DeferCleanup(func(ctx SpecContext) {
		gone := &clusterv1.Cluster{}
		gone.Namespace, gone.Name = namespace.Name, c.name
		framework.DumpSpecResourcesAndCleanup(ctx, c.spec, management, clusterctlConfig, artifacts, namespace, cancel, gone,
			config.GetIntervals, skipCleanup || !env.resets())
	})
}

// addHosts powers on as many hosts as there will be Machines, and approves each.
func (c *cluster) addHosts(ctx context.Context) {
	GinkgoHelper()
	agentConfig := c.register(ctx)
	count := int(c.controlPlane + c.workers)
	for n := range count {
		env.switchOn(ctx, c.name, fmt.Sprintf("%s-host-%d", c.name, n+1), config.MustGetVariable(imageInstalled), agentConfig)
	}
	if !env.resets() {
		DeferCleanup(c.dumpIfFailed) // while the hosts are on
	}
	Eventually(func(g Gomega) {
		installed := 0
		for _, found := range c.hosts(ctx, g) {
			if found.Labels[infrav1.InstalledLabel] == "true" {
				installed++
			}
			if !found.Spec.Approved {
				base := found.DeepCopy()
				found.Spec.Approved = true
				g.Expect(c.managedBy.GetClient().Patch(ctx, &found, client.MergeFrom(base))).To(Succeed())
			}
		}
		g.Expect(installed).To(Equal(count), "hosts that have registered, and were approved")
	}, c.intervals("wait-hosts")...).WithContext(ctx).Should(Succeed())
}

func (c *cluster) dumpIfFailed(ctx SpecContext) {
	if CurrentSpecReport().Failed() {
		failed := &clusterv1.Cluster{}
		failed.Namespace, failed.Name = c.namespace.Name, c.name
		framework.DumpAllResourcesAndLogs(ctx, c.managedBy, clusterctlConfig, artifacts, c.namespace, failed)
	}
}

func (c *cluster) hosts(ctx context.Context, g Gomega) []infrav1.ElementalHost {
	list := &infrav1.ElementalHostList{}
	g.Expect(c.managedBy.GetClient().List(ctx, list, client.InNamespace(c.namespace.Name))).To(Succeed())
	return list.Items
}
