// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// NameHost names the host on its Machine, for people and for the sake of the annotation itself.
//
// Cluster API takes its pending UpdateMachine hook off a Machine with a merge patch without a resourceVersion. When that
// was the Machine's only annotation the patch says "annotations: null", and from a stale read it wipes the marks of the
// next update, which has just begun: the Machine then counts as up to date with the former OS. With an annotation that
// stays, the patch names the hook alone.
func NameHost(ctx context.Context, writer client.Writer, machine *clusterv1.Machine, host string) error {
	if machine.Annotations[infrav1.HostAnnotation] == host {
		return nil
	}
	before, after := machine.DeepCopy(), machine.DeepCopy()
	annotations.AddAnnotations(after, map[string]string{infrav1.HostAnnotation: host})
	if err := writer.Patch(ctx, after, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("naming the host on Machine %s: %w", machine.Name, err)
	}
	return nil
}
