// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package condition

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// True sets a condition without a message.
func True(object conditions.Setter, conditionType string) {
	set(object, conditionType, metav1.ConditionTrue, clusterv1.ReadyReason, "")
}

// TrueBecause sets a True condition with a specific reason.
func TrueBecause(object conditions.Setter, conditionType, reason, format string, args ...any) {
	set(object, conditionType, metav1.ConditionTrue, reason, format, args...)
}

// False sets a condition that waits for something or has failed. The message must be deterministic: no times, no counters, lists sorted.
func False(object conditions.Setter, conditionType, reason, format string, args ...any) {
	set(object, conditionType, metav1.ConditionFalse, reason, format, args...)
}

// Unknown sets a condition that cannot be determined.
func Unknown(object conditions.Setter, conditionType, reason, format string, args ...any) {
	set(object, conditionType, metav1.ConditionUnknown, reason, format, args...)
}

// maxMessage is the longest message that a condition may have, in bytes. Source: metav1.Condition.
const maxMessage = 32768

// Message shortens a message that an API server would refuse, and the whole status with it.
func Message(message string) string {
	const more = "..."
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-len(more)], "") + more
}

func set(object conditions.Setter, conditionType string, status metav1.ConditionStatus, reason, format string, args ...any) {
	conditions.Set(object, metav1.Condition{
		Type:    conditionType,
		Status:  status,
		Reason:  reason,
		Message: Message(fmt.Sprintf(format, args...)),
	})
}

// Reason computes the reason of a summary, from the conditions that are issues, unknown, and others.
type Reason = func(issues, unknown, others []conditions.ConditionWithOwnerInfo) string

// DefaultReason of condition Ready is Ready, NotReady or ReadyUnknown.
func DefaultReason(issues, unknown, others []conditions.ConditionWithOwnerInfo) string {
	return conditions.GetDefaultComputeMergeReasonFunc(clusterv1.NotReadyReason, clusterv1.ReadyUnknownReason, clusterv1.ReadyReason)(issues, unknown, others)
}

// Summarize sets condition Ready by others: those that count for nothing while they are missing, and those of which True is
// what is wrong, are among them.
func Summarize(
	object conditions.Setter, reason Reason, of conditions.ForConditionTypes, missing conditions.IgnoreTypesIfMissing, negative conditions.NegativePolarityConditionTypes,
) error {
	err := conditions.SetSummaryCondition(object, object, clusterv1.ReadyCondition, of, missing, negative,
		conditions.CustomMergeStrategy{MergeStrategy: conditions.DefaultMergeStrategy(
			conditions.GetPriorityFunc(conditions.GetDefaultMergePriorityFunc(negative...)),
			conditions.ComputeReasonFunc(reason),
		)})
	if err != nil {
		return fmt.Errorf("summing up conditions: %w", err)
	}
	return nil
}
