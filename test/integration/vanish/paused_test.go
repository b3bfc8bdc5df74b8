// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vanish_test

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("A Cluster that is paused", func() {
	It("before the trigger, stops the upgrade, which continues when it is unpaused", func(ctx SpecContext) {
		before := identities(ctx, small)
		u := start(ctx, small, draining)
		pauseCluster(ctx, small)
		Eventually(isPaused).WithContext(ctx).WithArguments(u.attempt).Should(BeTrue())
		Eventually(isPaused).WithContext(ctx).WithArguments(u.elementalHost()).Should(BeTrue())
		u.release(ctx)
		u.expectStandstill(ctx)
		u.expectUntouched()

		unpauseCluster(ctx, small)
		u.expectSucceeded(ctx)
		Expect(identities(ctx, small)).To(Equal(before))
	})

	It("while the image is written, records the result of the upgrade when it is unpaused", func(ctx SpecContext) {
		before := identities(ctx, small)
		u := start(ctx, small, applying)
		pauseCluster(ctx, small)
		Eventually(isPaused).WithContext(ctx).WithArguments(u.attempt).Should(BeTrue())
		u.goOn()
		Eventually(u.hostPhase).WithContext(ctx).Should(Equal(infrav1.HostUpgradeSucceeded), "the host goes on by itself")
		Eventually(u.hostAnnotations).WithContext(ctx).ShouldNot(HaveKey(infrav1.BlockMoveAnnotation), "clusterctl may move it from here on")
		u.expectStandstill(ctx)
		Expect(u.node(ctx)).To(HaveField("Spec.Unschedulable", BeTrue()), "nobody has uncordoned it")

		unpauseCluster(ctx, small)
		u.expectSucceeded(ctx)
		Expect(identities(ctx, small)).To(Equal(before))
	})
})

var _ = Describe("An object that is paused", func() {
	DescribeTable("blocks the upgrade before the trigger", func(ctx SpecContext, kind string, name func(*upgrade) string, says string) {
		before := identities(ctx, small)
		u := start(ctx, small, draining)
		u.kubectl(ctx, "annotate", kind, name(u), clusterv1.PausedAnnotation+"=")
		if says == "" {
			Eventually(isPaused).WithContext(ctx).WithArguments(u.attempt).Should(BeTrue())
		} else {
			Eventually(u.now).WithContext(ctx).Should(HaveValue(HaveField("Status.Message", And(HavePrefix(says), ContainSubstring("is paused")))))
		}
		u.release(ctx)
		Consistently(u.now, calm).WithContext(ctx).Should(HaveValue(HaveField("Status.CompletionTime", BeNil())))
		u.expectUntouched()

		u.kubectl(ctx, "annotate", kind, name(u), clusterv1.PausedAnnotation+"-")
		u.expectSucceeded(ctx)
		Expect(identities(ctx, small)).To(Equal(before))
	},
		Entry("the attempt", "elementalhostupgrade", func(u *upgrade) string { return u.attempt.Name }, ""),
		Entry("the host", "elementalhost", func(u *upgrade) string { return u.attempt.Spec.HostName }, "ElementalHost/"),
		Entry("the Machine", "machine", func(u *upgrade) string { return u.attempt.Spec.MachineName }, "Machine/"),
	)
})

var _ = Describe("A cordon of a person", func() {
	It("is kept when an attempt that continued because of a waiver is given up", func(ctx SpecContext) {
		before := identities(ctx, small)
		node := before[0].Node
		waive(ctx, small, "NodeSchedulable")
		for _, args := range [][]string{{"cordon", node}, {"annotate", "node", node, personal + "="}} {
			_, err := theLab.WorkloadKubectl(ctx, args...)
			Expect(err).NotTo(HaveOccurred())
		}
		u := start(ctx, small, draining)
		u.kubectl(ctx, "patch", "elementalhostupgrade", u.attempt.Name, "--type", "merge", "--patch", `{"spec":{"cancel":true}}`)
		u.expectEnd(ctx, infrav1.UpgradeAborted, "aborted by spec.cancel")
		Eventually(traces).WithContext(ctx).WithArguments(small).Should(BeEmpty())
		u.expectUntouched()

		for _, args := range [][]string{{"annotate", "node", node, personal + "-"}, {"uncordon", node}} {
			_, err := theLab.WorkloadKubectl(ctx, args...)
			Expect(err).NotTo(HaveOccurred())
		}
		waive(ctx, small)
		u.release(ctx)
		u.kubectl(ctx, "delete", "elementalhostupgrade", u.attempt.Name)
		u.expectSucceeded(ctx)
		Expect(identities(ctx, small)).To(Equal(before))
	})
})

// waive waives preflight checks of rollouts of the workers' template.
func waive(ctx context.Context, cluster *scenario.Cluster, checks ...infrav1.PreflightCheck) {
	GinkgoHelper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"skipPreflight": checks}})
	Expect(err).NotTo(HaveOccurred())
	_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalmachinetemplate", scenario.Template,
		"--type", "merge", "--patch", string(patch))
	Expect(err).NotTo(HaveOccurred())
}

func pauseCluster(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	setPaused(ctx, cluster, "true")
	DeferCleanup(unpauseCluster, cluster)
}

func unpauseCluster(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	setPaused(ctx, cluster, "false")
}

func setPaused(ctx context.Context, cluster *scenario.Cluster, paused string) {
	GinkgoHelper()
	_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "cluster", cluster.Options.Name,
		"--type", "merge", "--patch", `{"spec":{"paused":`+paused+`}}`)
	Expect(err).NotTo(HaveOccurred())
}

// isPaused reads an object of ours again and reports whether its condition Paused is True.
func isPaused(ctx context.Context, object conditioned) (bool, error) {
	if err := theLab.Kube.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return false, err
	}
	condition := conditions.Get(object, clusterv1.PausedCondition)
	return condition != nil && condition.Status == metav1.ConditionTrue, nil
}

type conditioned interface {
	client.Object
	conditions.Getter
}

func (u *upgrade) elementalHost() *infrav1.ElementalHost {
	return &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace(), Name: u.attempt.Spec.HostName}}
}

// hostPhase is the host's phase of the attempt.
func (u *upgrade) hostPhase(ctx context.Context) (infrav1.HostUpgradePhase, error) {
	host := u.elementalHost()
	err := theLab.Kube.Get(ctx, client.ObjectKeyFromObject(host), host)
	if host.Status.Upgrade == nil {
		return "", err
	}
	return host.Status.Upgrade.Phase, err
}

func (u *upgrade) hostAnnotations(ctx context.Context) (map[string]string, error) {
	host := u.elementalHost()
	err := theLab.Kube.Get(ctx, client.ObjectKeyFromObject(host), host)
	return host.Annotations, err
}

// expectStandstill waits until our manager writes nothing except what hosts report: it may still have to react to the
// pause, for example by allowing clusterctl to move.
func (u *upgrade) expectStandstill(ctx context.Context) {
	GinkgoHelper()
	began := time.Now()
	Eventually(func(g Gomega) {
		to := time.Now()
		from := to.Add(-calm)
		g.Expect(from).To(BeTemporally(">=", began), "it is too early to tell")
		writes := audit.Writes(suite.Audit(theLab.Management), lab.ManagerUser, from, to)
		delete(writes, "elementalhosts/status")
		g.Expect(writes).To(BeEmpty())
	}, specs.Patience, time.Second).WithContext(ctx).Should(Succeed())
}
