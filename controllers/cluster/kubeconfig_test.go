// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

const withFile = `{"kind": "Config", "apiVersion": "v1", "users": [{"name": "admin", "user": {"tokenFile": "/token"}}]}`

var _ = It("An ElementalCluster tells of a kubeconfig that is refused, until it is corrected", func(ctx SpecContext) {
	owner, object := makeCluster(ctx, func(c *infrav1.ElementalCluster) { c.Spec.ControlPlaneEndpoint = endpoint })
	own(ctx, owner, object)
	Eventually(server.Stored(ctx, object)).Should(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
	Expect(conditions.Get(object, infrav1.KubeconfigUsableCondition)).To(BeNil(), "there is no kubeconfig yet")

	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.Namespace, Name: "c1-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: owner.Name},
		},
		Data: map[string][]byte{"value": []byte(withFile)},
	}
	Expect(server.Client.Create(ctx, secret)).To(Succeed())
	Eventually(server.Stored(ctx, object)).Should(SatisfyAll(
		apiserver.HaveCondition(infrav1.KubeconfigUsableCondition, metav1.ConditionFalse, infrav1.KubeconfigRefusedReason),
		apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionFalse, clusterv1.NotReadyReason),
	))
	Expect(conditions.Get(object, infrav1.KubeconfigUsableCondition).Message).To(Equal("the kubeconfig in Secret " + owner.Namespace +
		`/c1-kubeconfig is not used: tokenFile of user "admin" is a file, put its content into token`))

	apiserver.Change(ctx, server.Client, secret, func() {
		secret.Data["value"] = []byte(strings.Replace(withFile, `"tokenFile": "/token"`, `"token": "t"`, 1))
	})
	Eventually(server.Stored(ctx, object)).Should(SatisfyAll(
		apiserver.HaveCondition(infrav1.KubeconfigUsableCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
		apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
	))

	Expect(server.Client.Delete(ctx, secret)).To(Succeed())
	Eventually(server.Stored(ctx, object)).Should(HaveField("Status.Conditions", Not(ContainElement(HaveField("Type", infrav1.KubeconfigUsableCondition)))))
})
