// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"reflect"
	"slices"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
)

func (w *world) compares(with assess.UnitStates) {
	if !slices.ContainsFunc(w.before, func(known assess.UnitStates) bool { return reflect.DeepEqual(known, with) }) {
		w.before = append(w.before, with)
	}
}

func (w *world) Before(context.Context, bool) (assess.UnitStates, error) {
	return assess.UnitStates{Failed: []string{"old.service"}, Failing: w.failing}, w.boundary("before", func() error { return nil })
}
