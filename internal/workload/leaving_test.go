// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

func TestAPodLingersByOurOwnClock(t *testing.T) {
	for _, of := range []struct {
		name  string
		ahead time.Duration
	}{{"8 h behind", -8 * time.Hour}, {"1 min behind", -time.Minute}, {"the same", 0}, {"1 min ahead", time.Minute}, {"8 h ahead", 8 * time.Hour}} {
		t.Run(of.name, func(t *testing.T) {
			g := NewWithT(t)
			const grace = 30 * time.Second
			now, seen := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), observed.Changes{}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "db-0", UID: "1",
				DeletionTimestamp: &metav1.Time{Time: now.Add(of.ahead + grace)}, DeletionGracePeriodSeconds: new(int64(grace / time.Second)),
			}}
			lingers := func(after time.Duration) string {
				return workload.Lingers(pod, nil, workload.Leaving{Observed: &seen, Now: now.Add(after)})
			}
			g.Expect(lingers(0)).To(BeEmpty(), "it was deleted just now")
			g.Expect(lingers(grace + 2*time.Minute - time.Second)).To(BeEmpty())
			g.Expect(lingers(grace + 2*time.Minute)).To(ContainSubstring("--force"))
		})
	}
}
