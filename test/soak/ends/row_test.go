// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ends_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// ours stands for the ID of the attempt.
	ours = "ours"
	// done is the hook's answer that lets Cluster API continue; unasked means that there is none, because Cluster API
	// no longer calls the hook.
	done    = "done"
	unasked = "unasked"
)

// row of the table of ends, or what holds while an attempt is running.
type row struct {
	phase infrav1.UpgradePhase
	// marks are the cordon, skip-remediation, the slot and the marks on the host.
	marks scenario.Marks
	// answer of the hook: done, unasked, or the message on the Machine. HOST stands for the worker's host.
	answer string
}

// expect asserts the whole row.
func (r row) expect(ctx context.Context, u *upgrade) {
	GinkgoHelper()
	Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Phase", r.phase))
	Eventually(marksBesidesPause).WithContext(ctx).WithArguments(u.worker).Should(Equal(r.marksOf(ctx, u)))
	if r.phase != infrav1.UpgradeProgressing && r.phase != infrav1.UpgradeHostLost {
		expectGuestBack(ctx)
	}
	switch r.answer {
	case unasked:
		return
	case done:
		expectAnswered(ctx, u)
	default:
		expectHeld(ctx, u, strings.ReplaceAll(r.answer, "HOST", u.host.Name()))
	}
	Expect(cluster.Identities(ctx)).To(ConsistOf(u.worker), "Machine, Node and provider ID are the same")
}

func (r row) marksOf(ctx context.Context, u *upgrade) scenario.Marks {
	GinkgoHelper()
	marks := r.marks
	if marks.CordonedBy == ours {
		marks.CordonedBy = u.theAttempt(ctx).Status.Attempt
	}
	return marks
}

// marksBesidesPause are those of an attempt. A pause belongs to the whole rollout; test/integration/pause tests it.
func marksBesidesPause(ctx context.Context, worker scenario.Identity) (scenario.Marks, error) {
	marks, err := cluster.Marks(ctx, worker)
	marks.Paused, marks.PausedBy, marks.Approved = "", "", ""
	return marks, err
}

// expectAnswered waits until Cluster API has received the answer that the update is done.
func expectAnswered(_ context.Context, u *upgrade) {
	GinkgoHelper()
	Eventually(u.answered).Should(BeClosed(), "Cluster API takes its mark %s off the Machine", clusterv1.UpdateInProgressAnnotation)
}

// expectHeld waits until the Machine reports why its update does not continue: its message is the hook's answer. The
// mark alone would not be sufficient: Cluster API may remove it once without an answer (docs/adr/0003), and it is
// restored.
func expectHeld(ctx context.Context, u *upgrade, why string) {
	GinkgoHelper()
	Eventually(u.machine).WithContext(ctx).Should(And(
		HaveField("Annotations", HaveKey(clusterv1.UpdateInProgressAnnotation)),
		WithTransform(says(clusterv1.MachineUpdatingCondition, metav1.ConditionTrue), ContainSubstring(why)),
		WithTransform(says(clusterv1.MachineUpToDateCondition, metav1.ConditionFalse), Not(BeEmpty())),
	))
}

// machine of the worker.
func (u *upgrade) machine(ctx context.Context) (*clusterv1.Machine, error) {
	machines, err := cluster.Machines(ctx)
	for i := range machines {
		if string(machines[i].UID) == u.worker.MachineUID {
			return &machines[i], nil
		}
	}
	return &clusterv1.Machine{}, err
}

// says returns the message of a condition that has the status.
func says(condition string, status metav1.ConditionStatus) func(*clusterv1.Machine) string {
	return func(machine *clusterv1.Machine) string {
		found := conditions.Get(machine, condition)
		if found == nil || found.Status != status {
			return ""
		}
		return found.Message
	}
}

func isTrue(condition string) func(*clusterv1.Machine) bool {
	return func(machine *clusterv1.Machine) bool { return conditions.IsTrue(machine, condition) }
}
