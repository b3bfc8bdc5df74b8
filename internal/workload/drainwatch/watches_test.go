// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package drainwatch_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
)

// pace of most specs is no bound that they could notice.
const pace = time.Millisecond

var request = ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "upgrade"}}

var _ = Describe("A Node that is drained", func() {
	var (
		watches   *drainwatch.Watches
		queue     workqueue.TypedRateLimitingInterface[ctrl.Request]
		of        drainwatch.Drain
		namespace string
		end       context.CancelFunc
		before    []gleak.Goroutine
	)

	BeforeEach(func(ctx SpecContext) {
		namespace = server.NewNamespace(ctx)
		before = gleak.Goroutines()
		queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
		DeferCleanup(queue.ShutDown)
		watches = &drainwatch.Watches{}
		var running context.Context
		running, end = context.WithCancel(context.Background())
		DeferCleanup(end)
		Expect(watches.Source().Start(running, queue)).To(Succeed())
		of = drainwatch.Drain{
			Request: request, Cluster: client.ObjectKey{Name: "edge"}, Node: namespace, Open: open(server.Config),
		}
	})
	// woken takes the request from the queue, as a worker does.
	woken := func() bool {
		if queue.Len() == 0 {
			return false
		}
		got, _ := queue.Get()
		queue.Forget(got)
		queue.Done(got)
		return got == request
	}
	createPod := func(ctx context.Context, name, node string) *corev1.Pod {
		GinkgoHelper()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "a", Image: "registry.test/a"}},
		}}
		Expect(server.Client.Create(ctx, pod)).To(Succeed())
		return pod
	}
	remove := func(ctx context.Context, object client.Object) {
		GinkgoHelper()
		Expect(server.Client.Delete(ctx, object, client.GracePeriodSeconds(0))).To(Succeed())
	}

	It("wakes by Pods that leave it or end, and by no others", func(ctx SpecContext) {
		leaving, ending, other := createPod(ctx, "leaving", of.Node), createPod(ctx, "ending", of.Node), createPod(ctx, "other", "another-node")
		Expect(watches.Ensure(ctx, of, pace, drainwatch.Pods)).To(BeTrue())
		remove(ctx, other)
		Consistently(woken, "500ms").Should(BeFalse(), "neither by what is there already, nor by what is elsewhere")
		remove(ctx, leaving)
		Eventually(woken).Should(BeTrue())
		ending.Status.Phase = corev1.PodSucceeded
		Expect(server.Client.Status().Update(ctx, ending)).To(Succeed())
		Eventually(woken).Should(BeTrue())
	})

	It("wakes by volumes that are attached to it, and by no others", func(ctx SpecContext) {
		attach := func(node string) *storagev1.VolumeAttachment {
			attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{GenerateName: "csi-"}, Spec: storagev1.VolumeAttachmentSpec{
				Attacher: "csi.test", NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("pv")},
			}}
			Expect(server.Client.Create(ctx, attachment)).To(Succeed())
			return attachment
		}
		ours, theirs := attach(of.Node), attach("another-node")
		Expect(watches.Ensure(ctx, of, pace, drainwatch.Volumes)).To(BeTrue())
		Expect(server.Client.Delete(ctx, theirs)).To(Succeed())
		Consistently(woken, "500ms").Should(BeFalse())
		Expect(server.Client.Delete(ctx, ours)).To(Succeed())
		Eventually(woken).Should(BeTrue())
	})

	It("wakes once for all that leaves within the pace, at its end", func(ctx SpecContext) {
		pods := []*corev1.Pod{createPod(ctx, "a", of.Node), createPod(ctx, "b", of.Node), createPod(ctx, "c", of.Node)}
		clock := clocktesting.NewFakeClock(time.Now())
		watches.Clock = clock
		Expect(watches.Ensure(ctx, of, time.Minute, drainwatch.Pods)).To(BeTrue())
		remove(ctx, pods[0])
		Eventually(woken).Should(BeTrue())
		remove(ctx, pods[1])
		remove(ctx, pods[2])
		Eventually(clock.HasWaiters).Should(BeTrue())
		Consistently(woken, "500ms").Should(BeFalse())
		clock.Step(time.Minute)
		Eventually(woken).Should(BeTrue())
		Eventually(clock.HasWaiters).Should(BeTrue())
		clock.Step(time.Minute)
		Consistently(woken, "500ms").Should(BeFalse())
	})

	It("is polled where the account may not watch, and the cluster is not asked again at once", func(ctx SpecContext) {
		config := rest.CopyConfig(server.Config)
		config.Impersonate = rest.ImpersonationConfig{UserName: "may-do-nothing"}
		opened := 0
		of.Open = func() (client.WithWatch, error) { opened++; return open(config)() }
		Expect(watches.Ensure(ctx, of, pace, drainwatch.Pods)).To(BeFalse())
		Expect(watches.Ensure(ctx, of, pace, drainwatch.Pods)).To(BeFalse())
		Expect(opened).To(Equal(1))
	})

	It("is polled by a controller that has not started", func(ctx SpecContext) {
		Expect((&drainwatch.Watches{}).Ensure(ctx, of, pace, drainwatch.Pods)).To(BeFalse())
	})

	It("ends what is not kept, and leaves nothing running", func(ctx SpecContext) {
		pod := createPod(ctx, "a", of.Node)
		Expect(watches.Ensure(ctx, of, pace, drainwatch.Pods, drainwatch.Volumes)).To(BeTrue())
		watches.Keep(request, drainwatch.Volumes)
		remove(ctx, pod)
		Consistently(woken, "500ms").Should(BeFalse())
		watches.Keep(request)
		Eventually(gleak.Goroutines).ShouldNot(gleak.HaveLeaked(before, gleak.IgnoringInBacktrace("net/http"), gleak.IgnoringInBacktrace("workqueue")))
	})

	It("leaves nothing running when the controller ends", func(ctx SpecContext) {
		Expect(watches.Ensure(ctx, of, pace, drainwatch.Pods, drainwatch.Volumes)).To(BeTrue())
		end()
		Eventually(gleak.Goroutines).ShouldNot(gleak.HaveLeaked(before, gleak.IgnoringInBacktrace("net/http"), gleak.IgnoringInBacktrace("workqueue")))
		Expect(watches.Ensure(ctx, of, pace, drainwatch.Pods)).To(BeFalse())
	})
})

func open(config *rest.Config) func() (client.WithWatch, error) {
	return workload.New(server.Client, server.Client).WithConfig(config).Watcher
}
