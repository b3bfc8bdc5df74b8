// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/kubeconfig"
)

// observeKubeconfig tells of a kubeconfig that is refused. What connects to the workload cluster only says in the log why it
// does not.
func (r *Reconciler) observeKubeconfig(ctx context.Context, object *infrav1.ElementalCluster, owner *clusterv1.Cluster) error {
	if owner == nil {
		return nil
	}
	key := kubeconfig.SecretKey(owner)
	err := r.Kubeconfigs.Get(ctx, key, &corev1.Secret{})
	refusal := &kubeconfig.Refusal{}
	switch {
	case errors.As(err, &refusal):
		condition.False(object, infrav1.KubeconfigUsableCondition, infrav1.KubeconfigRefusedReason, "%s", refusal)
	case apierrors.IsNotFound(err):
		conditions.Delete(object, infrav1.KubeconfigUsableCondition)
	case err != nil:
		return fmt.Errorf("reading Secret %s: %w", key, err)
	default:
		condition.True(object, infrav1.KubeconfigUsableCondition)
	}
	return nil
}

// isKubeconfig passes the Secrets that have kubeconfigs.
func isKubeconfig() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool {
		_, purpose, err := secret.ParseSecretName(object.GetName())
		return err == nil && purpose == secret.Kubeconfig
	})
}
