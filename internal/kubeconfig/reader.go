// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewReader returns a reader of Secrets that refuses those whose kubeconfig Check refuses. Everything that connects to workload clusters has
// to read their kubeconfigs through it.
func NewReader(secrets client.Reader) client.Reader { return &reader{secrets: secrets} }

// reader embeds nothing: a method that controller-runtime adds later must not bypass the check.
type reader struct{ secrets client.Reader }

// Get reads one Secret. If Check refuses it, it returns the *Refusal and leaves object empty.
func (r *reader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	into, ok := object.(*corev1.Secret)
	if !ok {
		return fmt.Errorf("reading kubeconfig %s: it is in a Secret, not in a %T", key, object)
	}
	read := &corev1.Secret{}
	if err := r.secrets.Get(ctx, key, read, options...); err != nil {
		return err
	}
	if err := Check(read); err != nil {
		return err
	}
	*into = *read
	return nil
}

// List is not supported: kubeconfigs are read one by one.
func (r *reader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("kubeconfigs are read one by one, not listed")
}

// SecretKey of a Cluster's kubeconfig.
func SecretKey(cluster *clusterv1.Cluster) client.ObjectKey {
	return client.ObjectKey{Namespace: cluster.Namespace, Name: secret.Name(cluster.Name, secret.Kubeconfig)}
}
