// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// annotateOwner names the host on the Machine, for people and for the sake of the annotation itself.
//
// Cluster API 1.14.2 takes its pending UpdateMachine hook off a Machine with a merge patch without a
// resourceVersion (internal/hooks, MarkAsDone). When that was the Machine's only annotation the patch says
// "annotations: null", and from a stale read it wipes the marks of the next update, which has just
// begun: the Machine then counts as up to date with the former OS. With an annotation that stays, the
// patch names the hook alone.
func (r *Reconciler) annotateOwner(ctx context.Context, s *scope) error {
	if s.owner == nil || s.owner.Annotations[infrav1.HostAnnotation] == s.host.Name {
		return nil
	}
	before := s.owner.DeepCopy()
	after := s.owner.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	after.Annotations[infrav1.HostAnnotation] = s.host.Name
	if err := r.Client.Patch(ctx, after, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("naming the host on Machine %s: %w", s.owner.Name, err)
	}
	return nil
}
