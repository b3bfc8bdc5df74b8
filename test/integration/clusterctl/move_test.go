// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// move moves the cluster's namespace with clusterctl, and redirects the address of the Elemental API.
func move(ctx context.Context, from, to *plane) {
	GinkgoHelper()
	from.ctl(ctx, "move", "--namespace", clusterName, "--to-kubeconfig", lab.AdminKubeconfig(to.Management), "-v", "1")
	to.TakeOver()
}

// left are the objects of Cluster API's category that a management cluster still has in the cluster's namespace, except
// for hosts that called it during the move, while the registration still existed. Those serve no Machine and are
// deleted, as docs/move.md says.
func left(ctx context.Context, p *plane) string {
	GinkgoHelper()
	hosts := &infrav1.ElementalHostList{}
	Expect(p.Kube.List(ctx, hosts, client.InNamespace(clusterName))).To(Succeed())
	for i := range hosts.Items {
		Expect(hosts.Items[i].Spec.MachineRef).To(BeNil(), hosts.Items[i].Name)
	}
	p.kubectl(ctx, "delete", "elementalhosts", "--all", "--namespace", clusterName)
	said, err := p.Kubectl(ctx, "get", "cluster-api", "--namespace", clusterName, "--output", "name")
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(strings.Replace(said, "extensionconfig.runtime.cluster.x-k8s.io/elemental\n", "", 1)) // it is not namespaced
}

// describeMoves moves the cluster back and forth.
func describeMoves(cluster func() *scenario.Cluster, boots func() map[string]int) {
	var (
		identities []scenario.Identity
		booted     map[string]int
	)

	// follows asserts that for a host nothing has changed but the management cluster that it connects to.
	follows := func(ctx context.Context, to *plane) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			hosts, err := on(to, cluster()).Hosts(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(hosts).To(HaveLen(workers + 1))
			for i := range hosts {
				g.Expect(hosts[i].Status.OS.BootID).NotTo(BeEmpty(), "status is not moved: %s has told it again", hosts[i].Name)
				g.Expect(hosts[i].Spec.MachineRef).NotTo(BeNil())
				g.Expect(hosts[i].Spec.Approved).To(BeTrue())
			}
		}).WithContext(ctx).Should(Succeed())
	}

	Describe("clusterctl move", Ordered, func() {
		BeforeAll(func(ctx SpecContext) {
			target = startPlane(ctx, lab.Options{WithoutWorkload: true, Succeeds: source.Lab}, bringAuthority)
			Expect(target.CreateNamespace(ctx, clusterName)).To(Succeed(), "clusterctl brings no labels of a Namespace")
			var err error
			identities, err = cluster().Identities(ctx)
			Expect(err).NotTo(HaveOccurred())
			booted = boots()
		})

		It("finds the CA that hosts pin on the target, where cert-manager has adopted it", func(ctx SpecContext) {
			pinned, err := source.secret(ctx, authoritySecret)
			Expect(err).NotTo(HaveOccurred())
			Expect(target.secret(ctx, authoritySecret)).To(HaveField("Data", pinned.Data))
			expectServes(ctx, target, apiSecret, apiName, pinned.Data["tls.crt"])
		})

		It("moves an idle cluster, with the hosts and registrations that no Cluster owns", func(ctx SpecContext) {
			move(ctx, source, target)
			follows(ctx, target)
			Expect(on(target, cluster()).AwaitWorkers(ctx)).To(Succeed())
			Expect(left(ctx, source)).To(BeEmpty())
			Expect(boots()).To(Equal(booted))

			registrations := &infrav1.ElementalRegistrationList{}
			Expect(target.Kube.List(ctx, registrations, client.InNamespace(clusterName))).To(Succeed())
			Expect(registrations.Items).To(HaveLen(2))
			for i := range registrations.Items {
				key := client.ObjectKeyFromObject(&registrations.Items[i])
				Expect(target.Kube.Get(ctx, key, &corev1.Secret{})).To(Succeed(), "with the key that its tokens are signed with")
				key.Name += infrav1.RegistrationTokenSecretSuffix
				held := &corev1.Secret{}
				Expect(target.Kube.Get(ctx, key, held)).To(Succeed())
				Expect(metav1.IsControlledBy(held, &registrations.Items[i])).To(BeTrue(), "with its token")
			}
			now, err := on(target, cluster()).Identities(ctx)
			Expect(err).NotTo(HaveOccurred())
			for i := range now {
				now[i].MachineUID = identities[i].MachineUID // objects have new UIDs after a move
			}
			Expect(now).To(Equal(identities))
		})

		Describe("in the middle of an upgrade", Ordered, func() {
			var wanted image.Image

			// nodes of the workers.
			nodes := func() []string {
				found := []string{}
				for _, identity := range identities {
					if identity.Node != cluster().ControlPlaneHostName(1) {
						found = append(found, identity.Node)
					}
				}
				return found
			}
			eachNode := func(ctx context.Context, mark string) {
				GinkgoHelper()
				for _, node := range nodes() {
					_, err := source.WorkloadKubectl(ctx, "annotate", "node", node, mark, "--overwrite")
					Expect(err).NotTo(HaveOccurred())
				}
			}
			atStep := func(ctx context.Context, p *plane, step string) func(Gomega) {
				return func(g Gomega) {
					attempts, err := on(p, cluster()).Attempts(ctx)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(attempts).To(ContainElement(And(
						HaveField("Spec.ImageURI", wanted.URI()), HaveField("Status.Step", step))))
				}
			}
			once := func() map[string]int {
				expected := map[string]int{}
				for name, count := range booted {
					expected[name] = count + 1
				}
				expected[cluster().ControlPlaneHostName(1)]--
				return expected
			}

			// history are the IDs of the attempts that have ended, with their outcomes.
			history := func(ctx context.Context, p *plane) []string {
				GinkgoHelper()
				attempts, err := on(p, cluster()).Attempts(ctx)
				Expect(err).NotTo(HaveOccurred())
				ended := []string{}
				for i := range attempts {
					if attempts[i].Annotations[infrav1.EndedAnnotation] != "" {
						ended = append(ended, attempts[i].Status.Attempt+" "+string(attempts[i].Status.Phase))
					}
				}
				Expect(ended).NotTo(BeEmpty())
				return ended
			}
			// clean asserts that the attempts have reverted all of their marks, which refer to objects that were moved.
			clean := func(ctx context.Context) {
				GinkgoHelper()
				now, err := cluster().Identities(ctx)
				Expect(err).NotTo(HaveOccurred())
				for _, identity := range now {
					if identity.Node == cluster().ControlPlaneHostName(1) {
						continue
					}
					Eventually(func(g Gomega) {
						marks, err := cluster().Marks(ctx, identity)
						g.Expect(err).NotTo(HaveOccurred())
						g.Expect(marks).To(Equal(scenario.Clean))
					}).WithContext(ctx).Should(Succeed())
				}
			}

			It("moves a paused one of an ElementalClusterUpgrade, which continues where it was, canary first", func(ctx SpecContext) {
				wanted = suite.Push(ctx, cluster(), image.OS{})
				eachNode(ctx, infrav1.NodeUpgradePauseAnnotation+"=")
				const name = "moved"
				Expect(on(target, cluster()).ApplyUpgrade(ctx, name, wanted, "  order:\n  - {pools: ["+pool+"], nodes: 1, soakSeconds: 5}\n  - {pools: ["+pool+"]}")).To(Succeed())
				Eventually(atStep(ctx, target, "Approve")).WithContext(ctx).Should(Succeed())
				before, err := on(target, cluster()).Upgrade(ctx, name)
				Expect(err).NotTo(HaveOccurred())

				move(ctx, target, source)
				follows(ctx, source)
				Eventually(atStep(ctx, source, "Approve")).WithContext(ctx).Should(Succeed())
				Eventually(cluster().Upgrade).WithContext(ctx).WithArguments(name).Should(HaveField("Status", And(
					HaveField("Phase", infrav1.ClusterUpgradeProgressing), HaveField("Stage", before.Status.Stage), HaveField("Nodes", HaveValue(BeEquivalentTo(workers))))))
				Expect(boots()).To(Equal(booted), "nobody has let it go on")
				Expect(left(ctx, target)).To(BeEmpty())

				eachNode(ctx, infrav1.NodeUpgradePauseAnnotation+"-")
				Expect(cluster().AwaitPool(ctx, pool, wanted)).To(Succeed())
				Eventually(cluster().Upgrade).WithContext(ctx).WithArguments(name).Should(
					HaveField("Status.Phase", infrav1.ClusterUpgradeSucceeded))
				Expect(boots()).To(Equal(once()))
				booted = boots()
			})

			It("moves one whose virtual machines were shut down while another node is paused, and restores exactly those", func(ctx SpecContext) {
				stayOn(ctx, cluster(), nodes())
				held := holdDrains(ctx, nodes())
				wanted = suite.Push(ctx, cluster(), image.OS{})
				eachNode(ctx, infrav1.NodeUpgradePauseAnnotation+"=")
				Expect(cluster().PatchPool(ctx, pool, wanted)).To(Succeed())
				first := ""
				Eventually(func(g Gomega) {
					attempts, err := cluster().Attempts(ctx)
					g.Expect(err).NotTo(HaveOccurred())
					for i := range attempts {
						if attempts[i].Spec.ImageURI == wanted.URI() {
							first = attempts[i].Status.NodeName
						}
					}
					g.Expect(first).NotTo(BeEmpty())
				}).WithContext(ctx).Should(Succeed())
				_, err := source.WorkloadKubectl(ctx, "annotate", "node", first, infrav1.NodeUpgradePauseAnnotation+"-")
				Expect(err).NotTo(HaveOccurred())
				Eventually(atStep(ctx, source, "Drain")).WithContext(ctx).Should(Succeed())
				stopped, err := machineNamed(ctx, first)
				Expect(err).NotTo(HaveOccurred())
				Expect(stopped.Spec.RunStrategy).To(HaveValue(Equal(kubevirtv1.RunStrategyHalted)))
				Expect(stopped.Annotations).To(HaveKeyWithValue(infrav1.VMPowerStateAnnotation, ContainSubstring(`"value":"RerunOnFailure"`)))

				move(ctx, source, target)
				follows(ctx, target)
				Eventually(atStep(ctx, target, "Drain")).WithContext(ctx).Should(Succeed())
				Expect(machineNamed(ctx, first)).To(HaveField("Annotations", Equal(stopped.Annotations)), "nobody has touched it")
				Expect(boots()).To(Equal(booted))

				Expect(source.WorkloadKube.Delete(ctx, held)).To(Succeed())
				eachNode(ctx, infrav1.NodeUpgradePauseAnnotation+"-")
				Expect(on(target, cluster()).AwaitPool(ctx, pool, wanted)).To(Succeed())
				Expect(boots()).To(Equal(once()))
				booted = boots()
				expectAsTheyWere(ctx, cluster(), nodes())
				Expect(cluster().Nodes(ctx)).To(HaveEach(HaveField("Spec.Unschedulable", BeFalse())))
				Expect(left(ctx, source)).To(BeEmpty())
			})

			It("waits while a host reboots, and the upgrade continues after the move without a second reboot", func(ctx SpecContext) {
				wanted = suite.Push(ctx, cluster(), image.OS{BootSeconds: 30})
				Expect(on(target, cluster()).PatchPool(ctx, pool, wanted)).To(Succeed())
				Eventually(atStep(ctx, target, "Reboot")).WithContext(ctx).Should(Succeed())
				former := history(ctx, target)

				move(ctx, target, source)
				Expect(target.told).To(ContainSubstring("Move blocked by " + infrav1.BlockMoveAnnotation))
				follows(ctx, source)
				Expect(cluster().AwaitPool(ctx, pool, wanted)).To(Succeed())
				Expect(boots()).To(Equal(once()))
				Expect(left(ctx, target)).To(BeEmpty())
				clean(ctx)
				Expect(history(ctx, source)).To(ContainElements(former), "what had ended is not begun again")
				Eventually(cluster().Upgrade).WithContext(ctx).WithArguments("moved").Should(
					HaveField("Status.Phase", infrav1.ClusterUpgradeSucceeded), "nor the ElementalClusterUpgrade, whose image has been replaced twice since")
			})
		})

		describeRemoval()
	})
}
