// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
)

// progress of the attempts for an image, in all Clusters.
type progress struct {
	lab    *lab.Lab
	wanted string
	began  time.Time
	// seconds that each upgrade took whose end was waited for.
	seconds []float64
	seen    sets.Set[string]
}

func newProgress(l *lab.Lab, wanted string) *progress {
	return &progress{lab: l, wanted: wanted, seen: sets.New[string]()}
}

// started is the number of attempts.
func (p *progress) started(ctx context.Context) (int, error) {
	attempts, err := p.attempts(ctx)
	return len(attempts), err
}

// ended is the number of attempts that have succeeded.
func (p *progress) ended(ctx context.Context) (int, error) {
	attempts, err := p.attempts(ctx)
	count := 0
	for i := range attempts {
		if attempts[i].Status.Phase == infrav1.UpgradeSucceeded {
			count++
		}
	}
	return count, err
}

// endedOf is the number of attempts that have succeeded in the Clusters; the time of each is that
// of its first observation.
func (p *progress) endedOf(ctx context.Context, sites []*site) (int, error) {
	attempts, err := p.attempts(ctx)
	if err != nil {
		return 0, err
	}
	now, names := time.Now(), sets.New[string]()
	for _, one := range sites {
		names.Insert(one.name())
	}
	for i := range attempts {
		cluster := attempts[i].Spec.ClusterName
		if !names.Has(cluster) || p.seen.Has(cluster) || attempts[i].Status.Phase != infrav1.UpgradeSucceeded {
			continue
		}
		p.seen.Insert(cluster)
		p.seconds = append(p.seconds, now.Sub(p.began).Seconds())
	}
	return p.seen.Len(), nil
}

func (p *progress) attempts(ctx context.Context) ([]infrav1.ElementalHostUpgrade, error) {
	list := &infrav1.ElementalHostUpgradeList{}
	if err := p.lab.Kube.List(ctx, list); err != nil {
		return nil, err
	}
	found := []infrav1.ElementalHostUpgrade{}
	for i := range list.Items {
		if list.Items[i].Spec.ImageURI == p.wanted {
			found = append(found, list.Items[i])
		}
	}
	return found, nil
}
