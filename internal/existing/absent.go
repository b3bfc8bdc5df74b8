// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package existing

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// IsAbsent reports whether an error means that an object, or its kind, does not exist. The kind may have been removed since it
// was mapped.
func IsAbsent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// UnlessAbsent returns no error for an object, or a kind, that does not exist.
func UnlessAbsent(err error, doing string) error {
	if IsAbsent(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
