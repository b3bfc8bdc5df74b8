// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A machine without a host", func() {
	const digest = "sha256:1111"

	It("claims none while the rollout of its OS is stopped", func(ctx SpecContext) {
		w := newWorld(ctx)
		of := ownertest.Rollout(w.template(ctx, "t1", "oci://os:v1"), "c1")
		of.Spec.StoppedBy = "attempt"
		Expect(server.Client.Create(ctx, of)).To(Succeed())
		Eventually(func() error { return cached.Get(ctx, client.ObjectKeyFromObject(of), of) }).Should(Succeed())
		w.host(ctx, "h1")
		machine := w.machine(ctx, "m1", madeFrom("t1"))
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, string(infrav1.HoldRolloutStopped)))
		Expect(machine.Spec.HostRef).To(BeNil())
		apiserver.Change(ctx, server.Client, of, func() { of.Spec.StoppedBy = "" })
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.HostRef", Not(BeNil())))
	})

	It("claims one where its owner wants another OS by now, for which Cluster API waits", func(ctx SpecContext) {
		w := newWorld(ctx)
		set := w.rolling(ctx)
		of := ownertest.Rollout(ownertest.Template(w.ns, "t1", "oci://os:v1"), "c1")
		of.Spec.StoppedBy = "attempt"
		Expect(server.Client.Create(ctx, of)).To(Succeed())
		Eventually(func() error { return cached.Get(ctx, client.ObjectKeyFromObject(of), of) }).Should(Succeed())
		machine := w.machine(ctx, "m1", inPool)
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, string(infrav1.HoldRolloutStopped)))
		w.ownedBy(ctx, set, "m1")
		w.host(ctx, "h1")
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.HostRef", Not(BeNil())))
	})

	It("claims none while its image is in quarantine", func(ctx SpecContext) {
		w := newWorld(ctx)
		elemental := &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.ns, Name: "c1", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1", clusterv1.WatchLabel: watchFilter},
		}}
		elemental.Spec.Quarantine = []infrav1.QuarantinedImage{{Digest: digest}}
		Expect(server.Client.Create(ctx, elemental)).To(Succeed())
		of := ownertest.Rollout(w.template(ctx, "t1", "oci://os:v1"), "c1")
		of.Spec.ImageDigest, of.Spec.Completed = digest, true
		Expect(server.Client.Create(ctx, of)).To(Succeed())
		Eventually(func() error { return cached.Get(ctx, client.ObjectKeyFromObject(of), of) }).Should(Succeed())
		w.host(ctx, "h1")
		machine := w.machine(ctx, "m1", madeFrom("t1"))
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, string(infrav1.HoldImageQuarantined)))
		apiserver.Change(ctx, server.Client, elemental, func() { elemental.Spec.Quarantine = nil })
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.HostRef", Not(BeNil())))
	})
})
