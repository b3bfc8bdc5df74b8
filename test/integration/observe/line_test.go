// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// lines are the status lines that a watch of the cluster has shown.
type lines struct {
	mu   sync.Mutex
	said []string
}

// watchLines records from now on, until the spec ends.
func watchLines(ctx context.Context) *lines {
	GinkgoHelper()
	l := &lines{}
	suite.Follow(ctx, theLab.Kube, &infrav1.ElementalClusterList{}, func(event watch.Event) bool {
		if object, is := event.Object.(*infrav1.ElementalCluster); is {
			l.record(object)
		}
		return false
	}, client.InNamespace(cluster.Namespace()))
	return l
}

// record ignores changes by other writers of the object.
func (l *lines) record(object *infrav1.ElementalCluster) {
	line := conditions.Get(object, infrav1.NodesUpToDateCondition)
	if line == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.said) == 0 || l.said[len(l.said)-1] != line.Message {
		l.said = append(l.said, line.Message)
	}
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.said...)
}

func (l *lines) last() string {
	said := l.all()
	if len(said) == 0 {
		return ""
	}
	return said[len(said)-1]
}
