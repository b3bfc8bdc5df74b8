// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// marks are all that an attempt leaves in the world. Those that name the attempt say so by "ours": its
// id is another in every world.
type marks struct {
	// Gone is true when there is no attempt.
	Gone            bool
	Phase           infrav1.UpgradePhase
	Unschedulable   bool
	CordonedBy      string
	Paused          string
	PausedBy        string
	Approved        string
	SkipRemediation bool
	SkippedBy       string
	Slots           int
	Quarantine      string
	Label           string
	Asked           bool
	BlockMove       bool
	Pin             string
	OS              string
}

func (w *world) marks(ctx context.Context) marks {
	GinkgoHelper()
	found := marks{}
	attempt := ""
	if upgrade := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}); upgrade != nil {
		found.Phase, attempt = upgrade.Status.Phase, attemptOf(upgrade)
	} else {
		found.Gone = true
	}
	node := &corev1.Node{}
	if err := live.Get(ctx, client.ObjectKey{Name: w.host}, node); err == nil {
		found.Unschedulable = node.Spec.Unschedulable
		found.CordonedBy = ours(node.Annotations[infrav1.CordonedByAnnotation], attempt)
		found.Paused = ours(node.Annotations[infrav1.NodeUpgradePauseAnnotation], rolloutName)
		found.PausedBy = ours(node.Annotations[infrav1.PausedByAnnotation], rolloutName)
	}
	if machine := get(ctx, w, w.host, &clusterv1.Machine{}); machine != nil {
		found.Approved = ours(machine.Annotations[infrav1.ApprovedRolloutAnnotation], rolloutName)
		_, found.SkipRemediation = machine.Annotations[clusterv1.MachineSkipRemediationAnnotation]
		found.SkippedBy = ours(machine.Annotations[infrav1.SkipRemediationByAnnotation], attempt)
		if found.SkippedBy != "" && w.isReleased(ctx) {
			found.SkipRemediation, found.SkippedBy = false, "" // the controller of ElementalMachines removes it then
		}
	}
	if cluster := get(ctx, w, clusterName, &infrav1.ElementalCluster{}); cluster != nil {
		found.Slots = len(cluster.Status.UpgradeSlots)
		for _, image := range cluster.Spec.Quarantine {
			found.Quarantine += image.Digest + "=" + image.Host
		}
	}
	if host := get(ctx, w, w.host, &infrav1.ElementalHost{}); host != nil {
		found.Label, found.Asked = host.Labels[infrav1.InPlaceUpgradeLabel], host.Spec.Upgrade != nil
		_, found.BlockMove = host.Annotations[infrav1.BlockMoveAnnotation]
		found.OS = host.Status.OS.Digest
	}
	if rollout := get(ctx, w, rolloutName, &infrav1.ElementalRollout{}); rollout != nil {
		found.Pin = rollout.Spec.ImageDigest
	}
	return found
}

// isReleased reports whether the attempt says that it protects its Machine no more.
func (w *world) isReleased(ctx context.Context) bool {
	GinkgoHelper()
	upgrade := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{})
	return upgrade == nil || upgrade.Status.Phase.IsEnd() || upgrade.Status.Phase == infrav1.UpgradeHostLost ||
		conditions.IsFalse(upgrade, infrav1.UpgradeDisruptingCondition)
}

// get reads an object of the world; nil if there is none.
func get[T client.Object](ctx context.Context, w *world, name string, object T) T {
	GinkgoHelper()
	var none T
	err := live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, object)
	if client.IgnoreNotFound(err) == nil && err != nil {
		return none
	}
	Expect(err).NotTo(HaveOccurred())
	return object
}

// change writes a change of an object of the world, as a person or another controller does.
func change[T client.Object](ctx context.Context, w *world, name string, object T, edit func(T)) {
	GinkgoHelper()
	object = get(ctx, w, name, object)
	edit(object)
	Expect(live.Update(ctx, object)).To(Succeed())
}

// pin the rollout to a digest.
func (w *world) pin(ctx context.Context, digest string) {
	GinkgoHelper()
	change(ctx, w, rolloutName, &infrav1.ElementalRollout{}, func(of *infrav1.ElementalRollout) { of.Spec.ImageDigest = digest })
}

// changeNode is change for the Node of the world's host.
func (w *world) changeNode(ctx context.Context, edit func(*corev1.Node)) {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(live.Get(ctx, client.ObjectKey{Name: w.host}, node)).To(Succeed())
	edit(node)
	Expect(live.Update(ctx, node)).To(Succeed())
}

// status of the world's attempt.
func (w *world) status(ctx context.Context) infrav1.ElementalHostUpgradeStatus {
	GinkgoHelper()
	upgrade := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{})
	Expect(upgrade).NotTo(BeNil())
	return upgrade.Status
}

// attemptOf says how an attempt is called in marks: its name, and the beginning of the uid that it had first.
func attemptOf(upgrade *infrav1.ElementalHostUpgrade) string {
	if id := upgrade.Annotations[infrav1.AttemptAnnotation]; id != "" {
		return id
	}
	return upgrade.Name + "/" + string(upgrade.UID)[:8]
}

func ours(value, attempt string) string {
	if value == attempt && attempt != "" {
		return "ours"
	}
	return value
}

// drive lets the controller, the host and the time go on until nothing but time passes, or the
// condition holds. What the controller answers does not matter: it is repeated.
func (w *world) drive(ctx context.Context, until func() bool) {
	GinkgoHelper()
	const rounds, enough = 80, 4
	for round, quiet := 0, 0; quiet < enough; round++ {
		Expect(round).To(BeNumerically("<", rounds), "the attempt does not come to an end")
		if until != nil && until() {
			return
		}
		before, wasDisturbed := w.faults.lasting(), w.faults.disturbed
		_, _ = w.reconcile(ctx)
		if w.faults.dead {
			w.faults.revive()
			w.restart()
		}
		marker := w.agent.marker
		w.agent.tick(ctx)
		w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
		quiet++
		if w.faults.lasting() != before || w.faults.disturbed != wasDisturbed || !equality.Semantic.DeepEqual(w.agent.marker, marker) {
			quiet = 0
		}
	}
}

// inWords puts the world's names into a message.
func (w *world) inWords(message string) string {
	return strings.NewReplacer("HOST", w.host, "NAMESPACE", w.namespace).Replace(message)
}
