// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// mended is the failure message of these specs: they assert on what Cluster API does by itself, which is the only
// reason for package capiworkaround.
func mended(part string) string {
	return "Cluster API does not behave so any more: remove " + part + " from internal/capiworkaround"
}

// One of them loses a Machine, and updates the list of workers for the specs that follow.
var _ = Describe("Cluster API by itself", Ordered, func() {
	It("takes the marks of an update off twice, without a resourceVersion (UpdateMarks, NameHost)", func(ctx SpecContext) {
		atRest(ctx)
		since := time.Now()
		wanted := suite.Push(ctx, cluster, image.OS{})
		rotate(ctx, wanted)
		reaches(ctx, wanted)
		takenOff := marksTakenOff(since)
		Expect(takenOff).To(HaveLen(len(workers)), "Machines")
		for machine, patches := range takenOff {
			Expect(len(patches)).To(BeNumerically(">", 1), "Machine %s: %s", machine, mended("UpdateMarks"))
			Expect(patches).NotTo(ContainElement(ContainSubstring(`"resourceVersion"`)), "Machine %s: %s", machine, mended("UpdateMarks and NameHost"))
		}
	})

	It("waits ever longer after a hook that fails (RetryHook)", func(ctx SpecContext) {
		const longer = 20 * time.Second // than our own retry
		atRest(ctx)
		wanted := suite.Push(ctx, cluster, image.OS{})
		attempt, release := begin(ctx, wanted)
		own := &infrav1.ElementalMachine{}
		Expect(cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: attempt.Namespace, Name: attempt.Spec.ElementalMachineName}, own)).To(Succeed())
		suite.PauseElementalMachine(ctx, cluster, own.Name, true)
		remove := newRival(ctx)
		last, count := time.Now(), 0
		Eventually(func() time.Duration {
			if now := failedCalls(); now != count {
				last, count = time.Now(), now
			}
			return time.Since(last)
		}).Should(BeNumerically(">", longer), mended("RetryHook"))
		Expect(count).To(BeNumerically(">", 1), "calls that failed")

		remove(ctx)
		suite.PauseElementalMachine(ctx, cluster, own.Name, false)
		release()
		reaches(ctx, wanted)
	})

	It("deletes a Machine when a reference goes back (Judge)", func(ctx SpecContext) {
		atRest(ctx)
		bad, good := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy}), suite.Push(ctx, cluster, image.OS{})
		toBad, toGood := newTemplate(ctx, bad), newTemplate(ctx, good)
		Expect(pointTo(ctx, toBad)).To(Succeed())
		_, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		restoreGuard := suite.WithoutGuard(ctx, cluster.Lab.Kube)
		known := audit.Deleted(written(), "machines")
		Expect(pointTo(ctx, toGood)).To(Succeed())
		Eventually(hasTooMany, specs.Patience, "20ms").WithContext(ctx).WithArguments(toBad).Should(BeTrue())
		Expect(pointTo(ctx, toBad)).To(Succeed())
		Eventually(func() []string { return audit.Deleted(written(), "machines") }).ShouldNot(HaveLen(len(known)), mended("Judge"))

		restoreGuard(ctx)
		Eventually(pointTo).WithContext(ctx).WithArguments(toGood).Should(Succeed())
		Expect(cluster.AwaitWorkers(ctx)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, good)).To(Succeed())
		Eventually(staying).WithContext(ctx).Should(HaveLen(len(workers)))
		running, dismissed = good, append(dismissed, audit.Deleted(written(), "machines")...)
		workers, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})
})

// marksTakenOff are the patches since a time by which clients other than us removed update-in-progress from Machines,
// by Machine.
func marksTakenOff(since time.Time) map[string][]string {
	GinkgoHelper()
	found := map[string][]string{}
	for _, event := range written() {
		ref := event.ObjectRef
		if ref == nil || ref.Resource != "machines" || event.Verb != "patch" || event.StageTimestamp.Time.Before(since) ||
			!audit.Succeeded(event) || event.User.Username == lab.ManagerUser || !takesMarkOff(event) {
			continue
		}
		found[ref.Name] = append(found[ref.Name], string(event.RequestObject.Raw))
	}
	return found
}

func takesMarkOff(event auditv1.Event) bool {
	if event.RequestObject == nil {
		return false
	}
	patch := struct {
		Metadata struct {
			Annotations map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}{}
	if err := json.Unmarshal(event.RequestObject.Raw, &patch); err != nil {
		return false // not a merge patch
	}
	value, named := patch.Metadata.Annotations[clusterv1.UpdateInProgressAnnotation]
	return named && value == nil
}

// failedCalls counts the calls of UpdateMachine that failed because there were two extensions, according to Cluster
// API's log.
func failedCalls() int {
	GinkgoHelper()
	said, err := os.ReadFile(cluster.Lab.Core.Process.LogFile())
	Expect(err).NotTo(HaveOccurred())
	return strings.Count(string(said), "found multiple UpdateMachine hooks")
}

// hasTooMany reports whether the MachineSet of a template has more Machines than it should.
func hasTooMany(ctx context.Context, template string) (bool, error) {
	list := &clusterv1.MachineSetList{}
	err := cluster.Lab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()))
	return slices.ContainsFunc(list.Items, func(set clusterv1.MachineSet) bool {
		return set.Spec.Template.Spec.InfrastructureRef.Name == template && ptr.Deref(set.Status.Replicas, 0) > ptr.Deref(set.Spec.Replicas, 0)
	}), err
}
