// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// HaveCondition matches an object that has a condition with a status and a reason.
func HaveCondition(conditionType string, status metav1.ConditionStatus, reason string) types.GomegaMatcher {
	return WithTransform(func(object conditions.Getter) string {
		condition := conditions.Get(object, conditionType)
		if condition == nil {
			return "none"
		}
		return string(condition.Status) + "/" + condition.Reason
	}, Equal(string(status)+"/"+reason))
}
