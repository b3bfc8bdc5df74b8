// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterclass_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("A cluster of a ClusterClass", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
		running image.Image
	)
	BeforeAll(func(ctx SpecContext) {
		// The spare host would allow a Machine that must not be created: it would run, and another Machine be
		// deleted for it.
		cluster = suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{}), scenario.Options{Name: "shop", Workers: 2, Spare: 1, Class: true})
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})
	AfterEach(func(ctx SpecContext) { expectKept(ctx, cluster, before) })

	// reached asserts that all hosts run the image, each after one upgrade, and that no upgrade is running.
	reached := func(ctx context.Context, wanted image.Image) {
		GinkgoHelper()
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		Expect(attemptsFor(ctx, cluster, wanted)).To(HaveLen(2), "one attempt for each host")
		expectAtRest(ctx, cluster)
		running = wanted
	}
	settledReference := func(ctx context.Context) string {
		GinkgoHelper()
		name, err := reference(ctx, cluster)
		Expect(err).NotTo(HaveOccurred())
		return name
	}

	Describe("reaches the hosts in place", func() {
		It("by the content of the class's template", func(ctx SpecContext) {
			wanted := suite.Push(ctx, cluster, image.OS{})
			Expect(cluster.PatchPool(ctx, scenario.ClassTemplate, wanted)).To(Succeed())
			reached(ctx, wanted)
		})

		It("which is not told of a template's content by Cluster API itself (Topologies)", func(ctx SpecContext) {
			pause := func(value string) { // we do not touch Clusters for a paused template
				GinkgoHelper()
				_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "annotate", "elementalmachinetemplate", scenario.ClassTemplate,
					clusterv1.PausedAnnotation+value)
				Expect(err).NotTo(HaveOccurred())
			}
			wanted, at := suite.Push(ctx, cluster, image.OS{}), settledReference(ctx)
			pause("=")
			Expect(cluster.PatchPool(ctx, scenario.ClassTemplate, wanted)).To(Succeed())
			Consistently(reference, "10s").WithContext(ctx).WithArguments(cluster).Should(Equal(at),
				"Cluster API looks at the templates of a class by itself: remove Topologies from internal/capiworkaround")
			pause("-")
			reached(ctx, wanted)
		})

		It("by another template of the class", func(ctx SpecContext) {
			wanted := suite.Push(ctx, cluster, image.OS{})
			Expect(cluster.SwapTemplate(ctx, "edge-workers-2", wanted)).To(Succeed())
			reached(ctx, wanted)
		})

		It("by a variable that is patched inline", func(ctx SpecContext) {
			wanted := suite.Push(ctx, cluster, image.OS{})
			Expect(cluster.SetVariables(ctx, map[string]string{scenario.InlineVariable: wanted.URI()})).To(Succeed())
			reached(ctx, wanted)
		})

		It("by the variable of the runtime extension", func(ctx SpecContext) {
			wanted := suite.Push(ctx, cluster, image.OS{})
			Expect(cluster.SetVariables(ctx, map[string]string{inplace.OSImageVariable: wanted.URI()})).To(Succeed())
			reached(ctx, wanted)
		})

		It("by another value after a host has rolled back from the previous one", func(ctx SpecContext) {
			bad := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy})
			good := suite.Push(ctx, cluster, image.OS{})
			Expect(cluster.SetVariables(ctx, map[string]string{inplace.OSImageVariable: bad.URI()})).To(Succeed())
			_, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
			Expect(err).NotTo(HaveOccurred())
			Expect(cluster.SetVariables(ctx, map[string]string{inplace.OSImageVariable: good.URI()})).To(Succeed())
			reached(ctx, good)
			Expect(attemptsFor(ctx, cluster, bad)).To(HaveLen(1))
		})

		It("by an ElementalClusterUpgrade, which overrides the variable for each pool", func(ctx SpecContext) {
			wanted := suite.Push(ctx, cluster, image.OS{})
			upgrade := &infrav1.ElementalClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: "next"}}
			upgrade.Spec.ClusterName, upgrade.Spec.OSVersion.ImageURI = cluster.Options.Name, wanted.URI()
			Expect(cluster.Lab.Kube.Create(ctx, upgrade)).To(Succeed())
			reached(ctx, wanted)
			Eventually(func() (infrav1.ClusterUpgradePhase, error) {
				return upgrade.Status.Phase, cluster.Lab.Kube.Get(ctx, client.ObjectKeyFromObject(upgrade), upgrade)
			}).Should(Equal(infrav1.ClusterUpgradeSucceeded))

			By("giving the cluster the image for all pools, so that no pool needs one of its own")
			Expect(cluster.SetVariables(ctx, map[string]string{inplace.OSImageVariable: wanted.URI()})).To(Succeed())
			_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "cluster", cluster.Options.Name, "--type", "json",
				"--patch", `[{"op":"remove","path":"/spec/topology/workers/machineDeployments/0/variables"}]`)
			Expect(err).NotTo(HaveOccurred())
			reached(ctx, wanted)
		})
	})

	It("refuses the image together with files of kubeadm, until they are reverted", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.SetVariables(ctx, map[string]string{
			inplace.OSImageVariable: wanted.URI(), scenario.FileVariable: "changed",
		})).To(Succeed())
		Eventually(refusals).WithContext(ctx).WithArguments(cluster).Should(ContainElement(And(
			HaveField("Regarding.Kind", "MachineDeployment"),
			HaveField("Note", ContainSubstring("KubeadmConfigTemplate spec.template.spec.files")),
		)))
		Consistently(cluster.Machines, calm).WithContext(ctx).Should(HaveLen(2))
		Expect(attemptsFor(ctx, cluster, wanted)).To(BeEmpty())

		By("reverting the files")
		Expect(cluster.SetVariables(ctx, map[string]string{inplace.OSImageVariable: wanted.URI()})).To(Succeed())
		reached(ctx, wanted)
	})

	It("refuses a strategy with a surge before any reference changes, until it is corrected", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		at := settledReference(ctx)
		Expect(cluster.SetMaxSurge(ctx, 1)).To(Succeed())
		Expect(cluster.SetVariables(ctx, map[string]string{inplace.OSImageVariable: wanted.URI()})).To(Succeed())
		Eventually(cluster.TopologyError).WithContext(ctx).Should(And(
			ContainSubstring("would be replaced"), ContainSubstring("maxSurge 1: set maxSurge 0"), ContainSubstring("replacement: Allow")))
		Consistently(cluster.Machines, calm).WithContext(ctx).Should(HaveLen(2))
		Expect(reference(ctx, cluster)).To(Equal(at))

		By("correcting the strategy")
		Expect(cluster.SetMaxSurge(ctx, 0)).To(Succeed())
		reached(ctx, wanted)
	})

	It("retries what is refused while a rollout is in progress, and reports why until then", func(ctx SpecContext) {
		md, err := deployment(ctx, cluster)
		Expect(err).NotTo(HaveOccurred())
		pause := func(value string) {
			GinkgoHelper()
			_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "annotate", "machinedeployment", md.Name, clusterv1.PausedAnnotation+value)
			Expect(err).NotTo(HaveOccurred())
		}
		first, last := suite.Push(ctx, cluster, image.OS{}), suite.Push(ctx, cluster, image.OS{})
		at := settledReference(ctx)

		By("changing the variable while Cluster API cannot act on the previous change")
		pause("=")
		Expect(cluster.SetVariables(ctx, map[string]string{inplace.OSImageVariable: first.URI()})).To(Succeed())
		Eventually(reference).WithContext(ctx).WithArguments(cluster).ShouldNot(Equal(at))
		Expect(cluster.SetVariables(ctx, map[string]string{inplace.OSImageVariable: last.URI()})).To(Succeed())
		Eventually(cluster.TopologyError).WithContext(ctx).Should(ContainSubstring("was changed and has not been acted on yet"))

		By("letting it act")
		pause("-")
		reached(ctx, last)
	})

	It("is not upgraded by a change of a template that the topology created, which reports where to change the image instead", func(ctx SpecContext) {
		wrong := suite.Push(ctx, cluster, image.OS{})
		at := settledReference(ctx)
		Expect(cluster.PatchPool(ctx, at, wrong)).To(Succeed())
		Eventually(blocked).WithContext(ctx).WithArguments(cluster, at).Should(And(
			HaveField("Reason", infrav1.ManagedByTopologyReason), HaveField("Message", ContainSubstring("change its variables, or its class"))))

		By("triggering the topology controller, which reverts to a template with the content of the class")
		Expect(cluster.Touch(ctx, "once")).To(Succeed())
		Eventually(reference).WithContext(ctx).WithArguments(cluster).ShouldNot(Equal(at))
		expectAtRest(ctx, cluster)
		Expect(cluster.AwaitImage(ctx, running)).To(Succeed())
		Expect(attemptsFor(ctx, cluster, wrong)).To(BeEmpty())
	})

	// This is the last change, because Cluster API does not allow a version to be lowered.
	It("holds an upgrade of Kubernetes while a node must not be taken down, at each of its stages", func(ctx SpecContext) {
		node := cluster.HostName(1)
		kubectl := func(args ...string) {
			GinkgoHelper()
			_, err := cluster.WorkloadKubectl(ctx, args...)
			Expect(err).NotTo(HaveOccurred())
		}

		By("a node that a person has cordoned")
		kubectl("cordon", node)
		Expect(cluster.PatchTopology(ctx, map[string]any{"version": nextVersion})).To(Succeed())
		Eventually(cluster.TopologyError).WithContext(ctx).Should(And(
			ContainSubstring("BeforeClusterUpgrade: Node/"+node+": was cordoned by someone else"), ContainSubstring("[NodeSchedulable]")))
		Consistently(versions, calm).WithContext(ctx).WithArguments(cluster).Should(Equal(plan{scenario.KubernetesVersion, scenario.KubernetesVersion}))
		kubectl("uncordon", node)
		Eventually(versions).WithContext(ctx).WithArguments(cluster).Should(Equal(plan{nextVersion, scenario.KubernetesVersion}))
		Expect(hooksPassed(cluster)).To(ContainElements("BeforeClusterUpgrade", "BeforeControlPlaneUpgrade"))

		By("a node that is paused when the control plane is done")
		Eventually(upgradeNotes).WithContext(ctx).WithArguments(cluster).Should(And(
			HaveKeyWithValue(clusterv1.ClusterTopologyUpgradeStepAnnotation, nextVersion),
			HaveKeyWithValue(runtimev1.PendingHooksAnnotation, ContainSubstring("BeforeWorkersUpgrade"))))
		kubectl("annotate", "node", node, infrav1.NodeUpgradePauseAnnotation+"=")
		Expect(cluster.FinishControlPlane(ctx)).To(Succeed())
		Eventually(cluster.TopologyError).WithContext(ctx).Should(
			ContainSubstring("BeforeWorkersUpgrade: Node/" + node + ": is paused: remove its annotation " + infrav1.NodeUpgradePauseAnnotation))
		Consistently(versions, calm).WithContext(ctx).WithArguments(cluster).Should(Equal(plan{nextVersion, scenario.KubernetesVersion}))
		kubectl("annotate", "node", node, infrav1.NodeUpgradePauseAnnotation+"-")
		Eventually(versions).WithContext(ctx).WithArguments(cluster).Should(Equal(plan{nextVersion, nextVersion}))

		By("no Machine that is replaced for it, because replacement is not allowed here")
		Eventually(refusals).WithContext(ctx).WithArguments(cluster).Should(ContainElement(
			HaveField("Note", ContainSubstring("spec.template.spec.version"))))
		Consistently(cluster.Machines, calm).WithContext(ctx).Should(HaveLen(2))
	})

	It("has no template and no reference that we have written, but what the ElementalClusterUpgrade has overridden", func() {
		Expect(writesOfOurs(cluster)).To(Equal([]string{"patch clusters " + cluster.Options.Name}))
	})
})
