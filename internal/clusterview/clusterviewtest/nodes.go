// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterviewtest

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts/attemptstest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// AddNodes gives a Cluster a number of Machines, each with an ElementalMachine and a host that nobody has approved, and an
// attempt that has succeeded.
func AddNodes(ctx context.Context, kube client.Client, namespace, cluster string, count int) error {
	labels := map[string]string{clusterv1.ClusterNameLabel: cluster}
	for i := range count {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-node-%d", cluster, i), Labels: labels}
		elemental := ownertest.ElementalMachine(namespace, meta.Name, "of-"+cluster, "oci://other")
		elemental.Labels = labels
		for _, object := range []client.Object{
			&clusterv1.Machine{ObjectMeta: meta, Spec: clusterv1.MachineSpec{
				ClusterName: cluster, Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("b")},
				InfrastructureRef: ownertest.Reference("ElementalMachine", meta.Name),
			}},
			elemental,
			&infrav1.ElementalHost{ObjectMeta: meta},
		} {
			if err := kube.Create(ctx, object); err != nil {
				return fmt.Errorf("creating %T %s: %w", object, meta.Name, err)
			}
		}
	}
	return attemptstest.AddHistory(ctx, kube, namespace, cluster, count)
}
