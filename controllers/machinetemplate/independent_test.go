// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

const (
	// clusters is how many refer to one template, and theOne is the one of them where something fails.
	clusters = 30
	theOne   = "c13"
)

// hanging is a connector that does not come back with one cluster before the request of it has ended.
type hanging struct{ in string }

func (h hanging) Connect(ctx context.Context, cluster client.ObjectKey) (*workload.Cluster, error) {
	if cluster.Name == h.in {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		<-ctx.Done()
		return nil, fmt.Errorf("connecting: %w", ctx.Err())
	}
	return nil, workload.ErrUnreachable
}

var _ = Describe("One template of 30 Clusters", func() {
	var (
		w   *world
		mds map[string]*clusterv1.MachineDeployment
	)
	BeforeEach(func() {
		allowInPlaceUpdates()
		w = newWorld()
		mds = map[string]*clusterv1.MachineDeployment{}
		for i := range clusters {
			name := fmt.Sprintf("c%d", i)
			cluster, elemental := ownertest.Cluster(w.namespace, name, infrav1.NodeUpgradeOption{})
			mds[name] = ownertest.MachineDeployment(w.namespace, "md-"+name, name, "t", 1)
			plane.Create(ctx, cluster, elemental, mds[name])
			ownertest.Observe(ctx, c, mds[name], 1)
		}
	})
	// settle reconciles as often as a rollout needs it, and returns the last error.
	settle := func() (err error) {
		GinkgoHelper()
		for range 3 {
			_, err = w.reconciler.Reconcile(ctx, requestFor(w.template))
			w.answerPauses()
		}
		return err
	}
	refersTo := func(cluster string) string {
		GinkgoHelper()
		return apiserver.Get(ctx, c, mds[cluster]).Spec.Template.Spec.InfrastructureRef.Name
	}

	DescribeTable("is rolled out to all others where one", func(fail func(), errs OmegaMatcher, says string) {
		fail()
		w.patch(imageB)
		Expect(settle()).To(errs)
		for name, md := range mds {
			if name != theOne {
				Expect(refersTo(name)).NotTo(Equal("t"), name)
				Expect(md.Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation), name)
			}
		}
		Expect(refersTo(theOne)).To(Equal("t"))
		Expect(mds[theOne].Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
		apiserver.Get(ctx, c, w.template)
		Expect(w.message(infrav1.ReferencesUpdatedCondition)).To(And(ContainSubstring("MachineDeployment md-"+theOne), ContainSubstring(says)))

		By("and to that one once nothing fails any more")
		w.reconciler, _ = newReconciler()
		Expect(settle()).To(Succeed())
		Expect(refersTo(theOne)).NotTo(Equal("t"))
	},
		Entry("has a kubeconfig that cannot be read", func() {
			w.reconciler.Outlook = &outlook.Viewer{Client: c, Workload: &connector{fails: theOne}, Now: time.Now}
		}, Succeed(), "waits until Cluster "+theOne+" can be looked at"),
		Entry("does not answer", func() {
			w.reconciler.Outlook = &outlook.Viewer{Client: c, Workload: hanging{in: theOne}, Now: time.Now}
		}, Succeed(), "waits until Cluster "+theOne+" can be looked at"),
		Entry("cannot be read", func() {
			w.reconciler.Client = failing(w.reconciler.Client, "get Cluster "+theOne)
		}, MatchError(errInjected), errInjected.Error()),
		Entry("has a MachineDeployment that cannot be read", func() {
			w.reconciler.Owners.Live = failing(c, "get MachineDeployment md-"+theOne)
		}, MatchError(errInjected), errInjected.Error()),
		Entry("has a MachineDeployment that cannot be held", func() {
			w.reconciler.Owners.Client = failing(w.reconciler.Owners.Client, "patch MachineDeployment md-"+theOne)
		}, MatchError(errInjected), errInjected.Error()),
		Entry("has a MachineDeployment whose MachineSets cannot be listed to see how it rolls out", func() {
			apiserver.Change(ctx, c, mds[theOne], func() { mds[theOne].Spec.Rollout.After = metav1.NewTime(time.Now().Add(-time.Hour)) })
			ownertest.Observe(ctx, c, mds[theOne], 1)
			w.reconciler.Owners.Live = failing(c, "list MachineSet of md-"+theOne)
		}, MatchError(errInjected), errInjected.Error()),
	)

	It("is rolled out to all others where one cannot be unpaused that was paused for it and refers to another by now", func() {
		w.patch(imageB)
		w.reconcileOnce()
		apiserver.Change(ctx, c, mds[theOne], func() { mds[theOne].Spec.Template.Spec.InfrastructureRef.Name = "other" })
		w.answerPauses()
		w.reconciler.Owners.Client = failing(w.reconciler.Owners.Client, "patch MachineDeployment md-"+theOne)
		Expect(settle()).To(MatchError(errInjected))
		for name := range mds {
			if name != theOne {
				Expect(refersTo(name)).NotTo(Equal("t"), name)
			}
		}
		apiserver.Get(ctx, c, w.template)
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, infrav1.BlockedReason)
		Expect(w.message(infrav1.ReferencesUpdatedCondition)).To(ContainSubstring("unpausing MachineDeployment md-" + theOne + ": " + errInjected.Error()))

		w.reconciler, _ = newReconciler()
		Expect(settle()).To(Succeed())
		Expect(apiserver.Get(ctx, c, mds[theOne]).Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
	})

	It("has none paused before the clusters of all have been looked at", func() {
		looked := sets.Set[string]{}
		w.reconciler.Outlook = &outlook.Viewer{Client: c, Now: time.Now, Workload: inTurn(func(cluster client.ObjectKey) error {
			looked.Insert(cluster.Name)
			for name, md := range mds {
				Expect(apiserver.Get(ctx, c, md).Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation), name)
			}
			return workload.ErrUnreachable
		})}
		w.patch(imageB)
		w.reconcileOnce()
		Expect(looked).To(HaveLen(clusters + 1))
		for name, md := range mds {
			Expect(apiserver.Get(ctx, c, md).Annotations).To(HaveKey(clusterv1.PausedAnnotation), name)
		}

		By("and looks at none again that is paused")
		clear(looked)
		w.reconcileOnce()
		Expect(looked).To(BeEmpty())
	})

	It("has no owner of one Cluster wait for that of another which is slow to answer", func() {
		const slow = 5
		var (
			met   sync.WaitGroup
			comes [slow]sync.Once
		)
		met.Add(slow)
		w.reconciler.Outlook = &outlook.Viewer{Client: c, Now: time.Now, Workload: connecting(func(ctx context.Context, cluster client.ObjectKey) error {
			var number int
			if _, err := fmt.Sscanf(cluster.Name, "c%d", &number); err != nil || number >= slow {
				return workload.ErrUnreachable
			}
			comes[number].Do(met.Done)
			all := make(chan struct{})
			go func() { met.Wait(); close(all) }()
			select {
			case <-all: // of the slow ones are being looked at
				return workload.ErrUnreachable
			case <-ctx.Done():
				return fmt.Errorf("waiting for the others: %w", ctx.Err())
			}
		})}
		w.patch(imageB)
		Expect(settle()).To(Succeed())
		for name := range mds {
			Expect(refersTo(name)).NotTo(Equal("t"), name)
		}
	})

	It("has those pointed first that are paused for it, before the cluster of another is looked at", func() {
		w.patch(imageB)
		w.reconcileOnce()
		w.answerPauses()
		late, elemental := ownertest.Cluster(w.namespace, "a", infrav1.NodeUpgradeOption{})
		first := ownertest.MachineDeployment(w.namespace, "a", "a", "t", 1)
		plane.Create(ctx, late, elemental, first)
		looked := false
		w.reconciler.Outlook = &outlook.Viewer{Client: c, Now: time.Now, Workload: inTurn(func(cluster client.ObjectKey) error {
			if cluster.Name == "a" {
				looked = true
				for name := range mds {
					Expect(refersTo(name)).NotTo(Equal("t"), name)
				}
			}
			return workload.ErrUnreachable
		})}
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).NotTo(HaveOccurred())
		Expect(looked).To(BeTrue())
	})
})

// connecting is a connector that connects to nothing.
type connecting func(context.Context, client.ObjectKey) error

func (f connecting) Connect(ctx context.Context, cluster client.ObjectKey) (*workload.Cluster, error) {
	return nil, f(ctx, cluster)
}

// inTurn is a connector whose calls, in which a spec may expect something, are made one after the other.
func inTurn(call func(client.ObjectKey) error) connecting {
	var one sync.Mutex
	return func(_ context.Context, cluster client.ObjectKey) (err error) {
		err = workload.ErrUnreachable // where an expectation of the call fails
		defer GinkgoRecover()
		one.Lock()
		defer one.Unlock()
		return call(cluster)
	}
}

var _ = Describe("Whatever call fails while a MachineDeployment is held", func() {
	It("is unpaused, or its template says why not", func() {
		allowInPlaceUpdates()
		plane.Create(ctx, deployment("kcp", "control-plane-kubeadm", gatesOn))

		calls := callsWhileHeld(heldWorld())
		Expect(len(calls)).To(BeNumerically(">", 15))
		for call := range calls {
			By(call)
			w := heldWorld()
			inject(w, func(made string) error {
				if made == call {
					return errInjected
				}
				return nil
			})
			_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
			Expect(err).To(MatchError(errInjected))
			held := apiserver.Get(ctx, c, w.md).Annotations[clusterv1.PausedAnnotation] != ""
			if apiserver.Get(ctx, c, w.template); held {
				Expect(w.message(infrav1.ReferencesUpdatedCondition)).To(ContainSubstring(errInjected.Error()), call)
			}

			By("and is pointed once nothing fails any more")
			w.reconciler, _ = newReconciler()
			w.reconcile()
			w.reconcile()
			Expect(w.refersTo()).NotTo(Equal("t"), call)
			Expect(w.md.Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation), call)
		}
	})
})

// heldWorld is a world with a control plane besides, whose MachineDeployment is held for a change of the template and has been
// left alone by Cluster API.
func heldWorld() *world {
	GinkgoHelper()
	w := newWorld()
	kcp := ownertest.KubeadmControlPlane(w.namespace, "cp", "c", "t")
	plane.Create(ctx, kcp)
	plane.Create(ctx, ownertest.ControlPlaneMachine(kcp, "cp-1"), ownertest.ElementalMachine(w.namespace, "cp-1", "t", imageA))
	ownertest.Observe(ctx, c, kcp, 3)
	w.patch(imageB)
	w.reconcileOnce()
	Expect(w.md.Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, infrav1.RolloutHoldPrefix+"t"))
	Expect(w.answerPauses()).To(BeTrue())
	return w
}

// callsWhileHeld are the calls of the reconcile in which the MachineDeployment is pointed.
func callsWhileHeld(w *world) map[string]bool {
	GinkgoHelper()
	calls := map[string]bool{}
	inject(w, func(made string) error {
		calls[made] = true
		return nil
	})
	w.reconcileOnce()
	Expect(w.refersTo()).NotTo(Equal("t"))
	return calls
}

// inject asks before each call of the reconciler whether it fails. A call is named by its client, its verb and its object, the
// same in each world.
func inject(w *world, fails func(call string) error) {
	named := func(by string) func(string) error {
		return func(call string) error {
			return fails(by + ": " + strings.ReplaceAll(call, w.namespace, "of the world"))
		}
	}
	w.reconciler.Client = intercepted(w.reconciler.Client, named("cached"))
	w.reconciler.Owners.Client = w.reconciler.Client
	live := intercepted(c, named("live"))
	w.reconciler.Live, w.reconciler.Owners.Live = live, live
}

var errInjected = errors.New("injected")

// failing is a client one call of which fails.
func failing(inner client.Client, call string) client.Client {
	return intercepted(inner, func(made string) error {
		if made == call {
			return errInjected
		}
		return nil
	})
}
