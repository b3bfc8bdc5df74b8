// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const (
	controlPlanes = "control-plane"
	// calm is for how long something must not happen.
	calm = 5 * time.Second
)

// withHooks are drain options by which Rancher asks this provider.
var withHooks = rancher.DrainOptions{Enabled: true, GracePeriod: -1}.
	WithHooks(infrav1.RancherPreDrainAnnotation, infrav1.RancherPostDrainAnnotation)

// roll has Rancher drain all Nodes.
func roll(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	_, err := theLab.Rancher.RaiseProvisionGeneration(ctx, cluster.RancherKey())
	Expect(err).NotTo(HaveOccurred())
}

// patch the templates of pools to a new image.
func patch(ctx context.Context, cluster *scenario.Cluster, os image.OS, pools ...string) image.Image {
	GinkgoHelper()
	wanted := suite.Push(ctx, cluster, os)
	for _, pool := range pools {
		Expect(cluster.PatchPool(ctx, pool, wanted)).To(Succeed())
	}
	return wanted
}

// createWeb deploys Pods for the time of a spec.
func createWeb(ctx context.Context, cluster *scenario.Cluster, changes ...func(*appsv1.Deployment)) {
	GinkgoHelper()
	web := suite.Web(4)
	for _, change := range changes {
		change(web)
	}
	Expect(cluster.WorkloadKube().Create(ctx, web)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(cluster.WorkloadKube().Delete(ctx, suite.Web(4), client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Eventually(podsOf).WithContext(ctx).WithArguments(cluster).Should(BeEmpty())
	})
}

// onEachNode has a Pod on each of two workers, also on those that the scheduler is yet to see uncordoned, and on no Node of another cluster.
func onEachNode(cluster *scenario.Cluster) func(*appsv1.Deployment) {
	return func(web *appsv1.Deployment) {
		pod := &web.Spec.Template.Spec
		pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: web.Spec.Selector,
		}}
		pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{cluster.HostName(1), cluster.HostName(2)}},
			}}},
		}}}
	}
}

// said is a condition of a template.
type said struct{ Status, Reason string }

func says(ctx context.Context, cluster *scenario.Cluster, name, condition string) (said, error) {
	found, err := cluster.TemplateCondition(ctx, name, condition)
	return said{string(found.Status), found.Reason}, err
}

// ends of the attempts for an image.
func ends(ctx context.Context, cluster *scenario.Cluster, of image.Image) ([]infrav1.UpgradePhase, error) {
	attempts, err := cluster.Attempts(ctx)
	found := []infrav1.UpgradePhase{}
	for i := range attempts {
		if spec := attempts[i].Spec; spec.ImageURI == of.URI() && spec.Driver == infrav1.DriverRancherDrain {
			found = append(found, attempts[i].PhaseNow())
		}
	}
	return found, err
}

// holds are the first holds of the attempts for an image that have not ended; empty for one that nothing holds.
func holds(ctx context.Context, cluster *scenario.Cluster, of image.Image) ([]infrav1.HoldReason, error) {
	all, err := cluster.Attempts(ctx)
	found := []infrav1.HoldReason{}
	for i := range all {
		if all[i].Spec.ImageURI != of.URI() || all[i].PhaseNow().IsEnd() {
			continue
		}
		reason := infrav1.HoldReason("")
		if held := attempts.FirstHold(&all[i]); held != nil {
			reason = held.Reason
		}
		found = append(found, reason)
	}
	return found, err
}

// waits expects the attempts for an image to wait for Rancher, their hosts with the image, and all Nodes in service.
func waits(ctx context.Context, cluster *scenario.Cluster, of image.Image, number int) {
	GinkgoHelper()
	isHeld := And(HaveLen(number), HaveEach(infrav1.HoldRancherNotDraining))
	Eventually(holds).WithContext(ctx).WithArguments(cluster, of).Should(isHeld)
	Consistently(holds, calm).WithContext(ctx).WithArguments(cluster, of).Should(isHeld)
	Expect(marksLeft(ctx, cluster)).To(BeEmpty())
}

// marksLeft are the marks of attempts and cordons on Nodes, and the answers on plan secrets.
func marksLeft(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	nodes, err := cluster.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	found := []string{}
	for i := range nodes {
		if nodes[i].Spec.Unschedulable {
			found = append(found, "cordon of "+nodes[i].Name)
		}
		for _, key := range []string{infrav1.MarkedByAnnotation, infrav1.CordonedByAnnotation, infrav1.PersonsCordonAnnotation} {
			if value := nodes[i].Annotations[key]; value != "" {
				found = append(found, key+" of "+nodes[i].Name)
			}
		}
	}
	secrets, err := rancher.PlanSecrets(ctx, theLab.Kube, cluster.RancherKey())
	for i := range secrets {
		for _, key := range []string{infrav1.RancherPreDrainAnnotation, infrav1.RancherPostDrainAnnotation} {
			if _, isLeft := secrets[i].Annotations[key]; isLeft {
				found = append(found, key+" of "+secrets[i].Name)
			}
		}
	}
	return found, err
}

// heldEvents are the notes of the events that tell why Rancher waits.
func heldEvents(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	list := &corev1.EventList{}
	err := theLab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()), client.MatchingFields{"reason": infrav1.EventRancherDrainHeld})
	found := []string{}
	for i := range list.Items {
		found = append(found, list.Items[i].Message)
	}
	return found, err
}

// planOf is the plan secret of a Machine.
func planOf(ctx context.Context, cluster *scenario.Cluster, name string) *corev1.Secret {
	GinkgoHelper()
	machines, err := cluster.Machines(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := range machines {
		if machines[i].Name == name {
			secret, err := cluster.PlanSecret(ctx, &machines[i])
			Expect(err).NotTo(HaveOccurred())
			return secret
		}
	}
	Fail("no Machine " + name)
	return nil
}
