// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attemptstest

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// New is an attempt to bring a host to an image, on a Machine and an ElementalMachine of the host's name.
func New(namespace, name, cluster, host, image string) *infrav1.ElementalHostUpgrade {
	return &infrav1.ElementalHostUpgrade{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: infrav1.ElementalHostUpgradeSpec{
			ClusterName: cluster, HostName: host, MachineName: host, ElementalMachineName: host, ImageURI: image,
			OSVersionManagement: osversion.OfImage(image),
		},
	}
}

// AddHistory creates attempts of a Cluster that have succeeded, each on a host of its own.
func AddHistory(ctx context.Context, kube client.Client, namespace, cluster string, count int) error {
	for i := range count {
		host := fmt.Sprintf("%s-past-%d", cluster, i)
		attempt := New(namespace, host, cluster, host, "oci://past")
		if err := kube.Create(ctx, attempt); err != nil {
			return fmt.Errorf("creating ElementalHostUpgrade %s: %w", attempt.Name, err)
		}
		attempt.Status.Phase = infrav1.UpgradeSucceeded
		if err := kube.Status().Update(ctx, attempt); err != nil {
			return fmt.Errorf("ending ElementalHostUpgrade %s: %w", attempt.Name, err)
		}
	}
	return nil
}
