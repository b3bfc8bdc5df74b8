// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Self is the Pod that the manager runs in; zero where that is not known.
type Self struct {
	Key client.ObjectKey
	UID types.UID
}

// SelfOf reads it from the environment variables of the manager's Deployment, which are those of Cluster API's managers.
func SelfOf(getenv func(string) string) Self {
	return Self{
		Key: client.ObjectKey{Namespace: getenv("POD_NAMESPACE"), Name: getenv("POD_NAME")},
		UID: types.UID(getenv("POD_UID")),
	}
}

// Runs reports whether the manager runs on a Node of the cluster: the cluster manages itself. A Pod of that name in a cluster that does not
// is another one.
func (c *Cluster) Runs(ctx context.Context, self Self, node string) (bool, error) {
	if self.UID == "" {
		return false, nil
	}
	pod := &corev1.Pod{}
	switch err := c.live.Get(ctx, self.Key, pod); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("looking for the manager's own Pod %s: %w", self.Key, err)
	}
	return pod.UID == self.UID && pod.Spec.NodeName == node, nil
}
