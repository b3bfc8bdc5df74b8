// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/etcd"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("A KubeadmControlPlane of three", Ordered, func() {
	var (
		cluster *scenario.Cluster
		members *etcd.Client
		voters  map[string]string
		before  []scenario.Identity
		began   time.Time
	)

	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{ControlPlane: 3})
		members = openEtcd(cluster)
		var err error
		voters, err = votersOf(ctx, members)
		Expect(err).NotTo(HaveOccurred())
		Expect(voters).To(HaveLen(3))
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	BeforeEach(func() { began = time.Now() })

	// After each spec the Machines, nodes, hosts and etcd members must be the same as before.
	AfterEach(func(ctx SpecContext) {
		Expect(cluster.Identities(ctx)).To(Equal(before), "every Machine, Node name and provider ID is the same")
		Eventually(votersOf).WithContext(ctx).WithArguments(members).Should(Equal(voters), "etcd has the same members")
	})

	It("is upgraded in place one by one, each when the last is healthy again", func(ctx SpecContext) {
		recorded := recordHistory(ctx, cluster)
		writes := write(ctx, members)
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		writes.finish(ctx)

		expectOneByOne(cluster, began)
		starts, triggers := recorded.moments()
		Expect(starts).To(HaveLen(3))
		Expect(triggers).To(HaveLen(3))
		for _, moment := range slices.Concat(starts, triggers) {
			Expect(recorded.unhealthyAt(moment)).To(BeEmpty(), "the other Machines at the %s", moment)
		}
		Expect(recorded.wentDown()).NotTo(BeEmpty(), "KubeadmControlPlane saw what a reboot is")
	})

	It("stops at a bad image on one node, and continues with the next good one", func(ctx SpecContext) {
		former, err := digests(ctx, cluster)
		Expect(err).NotTo(HaveOccurred())
		writes := write(ctx, members)
		bad := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy})
		Expect(cluster.PatchControlPlaneImage(ctx, bad)).To(Succeed())
		attempt, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())

		By("quarantining the digest and touching no other host")
		Expect(quarantine(ctx, cluster)).To(HaveKeyWithValue(bad.PlatformDigest, attempt.Spec.HostName))
		Consistently(digests, calm).WithContext(ctx).WithArguments(cluster).Should(Equal(former))

		By("patching a good image")
		good := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, good)).To(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, good)).To(Succeed())
		writes.finish(ctx)
		Expect(audit.TriggeredFor(suite.Audit(cluster.Lab.Management), bad.URI())).To(Equal([]string{attempt.Spec.HostName}),
			"one host only was triggered for the bad image")
		expectOneByOne(cluster, began)
	})

	It("is upgraded with a surge, too, with which a rotation is refused", func(ctx SpecContext) {
		Expect(setSurge(ctx, cluster, "1")).To(Succeed())
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.CopyControlPlaneTemplate(ctx, "surge", wanted)).To(Succeed())
		Expect(cluster.PointControlPlane(ctx, "surge")).To(MatchError(ContainSubstring(
			"KubeadmControlPlane control-plane has spec.rollout.strategy.rollingUpdate.maxSurge 1: set maxSurge 0")))
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		expectOneByOne(cluster, began)
		Expect(setSurge(ctx, cluster, "0")).To(Succeed())
	})

	It("is upgraded by a rotation, which Cluster API carries out by the hooks", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.CopyControlPlaneTemplate(ctx, "rotated", wanted)).To(Succeed())
		Eventually(cluster.PointControlPlane).WithContext(ctx).WithArguments("rotated").Should(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		expectOneByOne(cluster, began)

		By("returning to the template that the other specs patch, which has the former OS")
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		Eventually(cluster.PointControlPlane).WithContext(ctx).WithArguments(scenario.ControlPlaneTemplate).Should(Succeed())
		Expect(cluster.AwaitControlPlaneTemplate(ctx, scenario.ControlPlaneTemplate)).To(Succeed())
		Expect(cluster.AwaitRolledOut(ctx, scenario.ControlPlaneTemplate)).To(Succeed())
	})

	It("is left alone while a host is down, and upgraded when it is back", func(ctx SpecContext) {
		first, second := cluster.Lab.Host(cluster.ControlPlaneHostName(1)), cluster.Lab.Host(cluster.ControlPlaneHostName(2))
		running, err := digests(ctx, cluster)
		Expect(err).NotTo(HaveOccurred())

		By("losing two hosts, and therefore the quorum")
		Expect(first.PowerOff(ctx)).To(Succeed())
		Expect(second.PowerOff(ctx)).To(Succeed())
		Expect(members.Put(ctx, probeKey, "lost")).NotTo(Succeed(), "one member of three takes no writes")
		Eventually(unhealthy).WithContext(ctx).WithArguments(cluster).Should(HaveLen(3), "KubeadmControlPlane sees it")

		By("bringing one back: KubeadmControlPlane would replace a single unhealthy Machine")
		Expect(second.PowerOn(ctx)).To(Succeed())
		Eventually(func(ctx context.Context) ([]string, error) {
			if err := wake(ctx, cluster); err != nil {
				return nil, err
			}
			return unhealthy(ctx, cluster)
		}, specs.Patience, time.Second).WithContext(ctx).Should(HaveLen(1))
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(MatchError(ContainSubstring("bring them back first [ControlPlaneQuorum]")))

		By("bringing the other back, too")
		Expect(first.PowerOn(ctx)).To(Succeed())
		Eventually(cluster.PatchControlPlaneImage).WithContext(ctx).WithArguments(wanted).Should(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		Expect(digests(ctx, cluster)).NotTo(Equal(running))
	})
})

// expectOneByOne asserts what the workload cluster's audit log must show since a time.
func expectOneByOne(cluster *scenario.Cluster, since time.Time) {
	GinkgoHelper()
	events := slices.DeleteFunc(suite.Audit(cluster.Lab.Workload), func(event auditv1.Event) bool {
		return event.StageTimestamp.Time.Before(since)
	})
	cordons := audit.Cordons(events)
	Expect(cordons).To(HaveLen(cluster.Options.ControlPlane), "every node was cordoned")
	Expect(audit.MaxOverlap(cordons)).To(Equal(1), "one node at a time")
	Expect(audit.MaxOverlap(audit.Downtimes(events))).To(Equal(1), "one node is down at a time")
	Expect(audit.Deleted(suite.Audit(cluster.Lab.Management), "machines")).To(BeEmpty(), "no Machine was deleted")
}

// unhealthy lists the Machines whose etcd member is unhealthy according to KubeadmControlPlane.
func unhealthy(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	machines, err := cluster.ControlPlaneMachines(ctx)
	found := []string{}
	for i := range machines {
		if len(owner.Unhealthy(&machines[i])) > 0 {
			found = append(found, machines[i].Name)
		}
	}
	return found, err
}

// wake triggers KubeadmControlPlane. It fails while there is no quorum and retries after up to 1000 s
// (util/controller of Cluster API: 5ms * 2^n), or at the next event; all events of a returned Node may come before
// its etcd member is back.
func wake(ctx context.Context, cluster *scenario.Cluster) error {
	_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "annotate", "--overwrite", "kubeadmcontrolplane", scenario.ControlPlane,
		"looked-at="+time.Now().Format(time.RFC3339Nano))
	return err
}

func setSurge(ctx context.Context, cluster *scenario.Cluster, surge string) error {
	_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "kubeadmcontrolplane", scenario.ControlPlane, "--type", "merge",
		"--patch", `{"spec":{"rollout":{"strategy":{"rollingUpdate":{"maxSurge":`+surge+`}}}}}`)
	return err
}

func digests(ctx context.Context, cluster *scenario.Cluster) (map[string]string, error) {
	hosts, err := cluster.Hosts(ctx)
	booted := map[string]string{}
	for i := range hosts {
		booted[hosts[i].Name] = hosts[i].Status.OS.Digest
	}
	return booted, err
}

// quarantine has the hosts that rolled back, by the digest of the image.
func quarantine(ctx context.Context, cluster *scenario.Cluster) map[string]string {
	GinkgoHelper()
	object := &infrav1.ElementalCluster{}
	Expect(cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: cluster.Options.Name}, object)).To(Succeed())
	hosts := map[string]string{}
	for _, image := range object.Spec.Quarantine {
		hosts[image.Digest] = image.Host
	}
	return hosts
}
