// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"context"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// pinned is a Deployment of one Pod that runs on one node alone, and that a PodDisruptionBudget keeps there: a node that has it is not drained.
func pinned(ctx context.Context, node string) (release func(context.Context)) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "pinned", Labels: map[string]string{"app": "pinned"}}
	web := suite.Web(1)
	web.ObjectMeta, web.Spec.Selector, web.Spec.Template.Labels = meta, &metav1.LabelSelector{MatchLabels: meta.Labels}, meta.Labels
	web.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}},
	}}
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: web.Spec.Selector},
	}
	Expect(theLab.WorkloadKube.Create(ctx, budget)).To(Succeed())
	Expect(theLab.WorkloadKube.Create(ctx, web)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		for _, object := range []client.Object{web, budget} {
			Expect(client.IgnoreNotFound(theLab.WorkloadKube.Delete(ctx, object))).To(Succeed())
		}
	})
	Eventually(func(ctx context.Context) (int32, error) {
		found := &appsv1.Deployment{}
		err := theLab.WorkloadKube.Get(ctx, client.ObjectKeyFromObject(web), found)
		return found.Status.ReadyReplicas, err
	}).WithContext(ctx).Should(BeEquivalentTo(1))
	return func(ctx context.Context) {
		GinkgoHelper()
		Expect(theLab.WorkloadKube.Delete(ctx, budget)).To(Succeed())
	}
}

// attemptFor returns the attempt for an image; the zero value if there is none.
func attemptFor(ctx context.Context, wanted image.Image) (infrav1.ElementalHostUpgrade, error) {
	all, err := cluster.Attempts(ctx)
	for i := range all {
		if all[i].Spec.ImageURI == wanted.URI() {
			return all[i], nil
		}
	}
	return infrav1.ElementalHostUpgrade{}, err
}

func expectUpgraded(ctx context.Context, worker scenario.Identity, wanted image.Image) {
	GinkgoHelper()
	Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
	Eventually(cluster.Marks).WithContext(ctx).WithArguments(worker).Should(Equal(scenario.Clean))
}

// changes are what was done to a host's OS.
type changes struct{ Boots, Written, Interrupted int }

func changesOf(host *lab.Host, since time.Time) changes {
	GinkgoHelper()
	written, interrupted := suite.Writes(host, since)
	return changes{Boots: len(host.Boots()), Written: written, Interrupted: interrupted}
}

var _ = It("A host that a restored etcd had triggered, two images ago, is drained before it is taken to the image of the backup", func(ctx SpecContext) {
	began := time.Now()
	identities, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(identities).To(HaveLen(1))
	worker, host := identities[0], theLab.Host(identities[0].Node)

	By("backing up etcd while the host carries out its attempt")
	inBackup := suite.Push(ctx, cluster, image.OS{})
	held := suite.HoldHost(host, infrav1.HostUpgradeApplying)
	Expect(cluster.PatchImage(ctx, inBackup)).To(Succeed())
	Eventually(held.Came(string(infrav1.HostUpgradeApplying))).Should(BeClosed())
	backup := filepath.Join(GinkgoT().TempDir(), "etcd")
	Expect(theLab.Management.Backup(backup)).To(Succeed())
	held.Release(string(infrav1.HostUpgradeApplying))
	expectUpgraded(ctx, worker, inBackup)

	By("upgrading it to another image")
	newest := suite.Push(ctx, cluster, image.OS{})
	Expect(cluster.PatchImage(ctx, newest)).To(Succeed())
	expectUpgraded(ctx, worker, newest)
	release := pinned(ctx, worker.Node)
	before := changesOf(host, began)

	By("restoring the backup: the host is not drained, and is not rebooted")
	Expect(theLab.Restore(ctx, backup)).To(Succeed())
	Eventually(attemptFor).WithContext(ctx).WithArguments(inBackup).Should(And(
		HaveField("Status.Step", "Drain"), HaveField("Status.Message", ContainSubstring("PodDisruptionBudget default/pinned")),
	), func() string { return "the attempt goes back to the drain" })
	Expect(cluster.Marks(ctx, worker)).To(And(HaveField("Unschedulable", BeTrue()), HaveField("Label", BeEmpty())), "the trigger is taken back")
	Expect(changesOf(host, began)).To(Equal(before))
	Expect(attemptFor(ctx, newest)).To(BeZero(), "the backup knows nothing of it")

	By("draining it, and taking it to the image that the template of the backup has")
	release(ctx)
	expectUpgraded(ctx, worker, inBackup)
	Expect(changesOf(host, began)).To(Equal(changes{Boots: before.Boots + 1, Written: before.Written + 1, Interrupted: before.Interrupted}))
	Expect(attemptFor(ctx, inBackup)).To(HaveField("Status.Phase", infrav1.UpgradeSucceeded))
	Expect(cluster.Identities(ctx)).To(ConsistOf(worker), "Machine, Node and provider ID are the same")
})
