// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// errUnanswered means that virt-api, which every write goes through, does not answer. That is waited for.
var errUnanswered = errors.New("virt-api of KubeVirt does not answer: see its Deployment")

// patience is how long a write may take: KubeVirt's webhooks time out after 10 s.
const patience = 15 * time.Second

// write makes one write, and tells a virt-api that does not answer from everything else. An API server answers 500
// when a webhook cannot be called.
func write(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := do(limited)
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded),
		apierrors.IsInternalError(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsServiceUnavailable(err):
		return fmt.Errorf("%w", errUnanswered)
	}
	return err
}

// isRefused reports whether an API server, or a webhook of KubeVirt, does not want a write as it is: to try it again
// changes nothing.
func isRefused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) || apierrors.IsNotFound(err) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError
}
