// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	capilabels "sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// FailureDomainLabel on an ElementalHost names the failure domain that the host is in.
const FailureDomainLabel = corev1.LabelTopologyZone

// Selector is the label selector of an ElementalMachine; nil selects every host.
func Selector(machine *infrav1.ElementalMachine) (labels.Selector, error) {
	if machine.Spec.Selector == nil {
		return labels.Everything(), nil
	}
	selector, err := metav1.LabelSelectorAsSelector(machine.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("reading spec.selector of ElementalMachine %s/%s: %w", machine.Namespace, machine.Name, err)
	}
	return selector, nil
}

// candidates returns the free hosts that may serve the machine: first those that already run the wanted OS, then by name. They belong to the
// cache and must not be modified.
func (c *Claimer) candidates(ctx context.Context, claim Claim) ([]*infrav1.ElementalHost, error) {
	selector, err := Selector(claim.Machine)
	if err != nil {
		return nil, err
	}
	free := &infrav1.ElementalHostList{}
	if err := c.Client.List(ctx, free,
		client.InNamespace(claim.Machine.Namespace),
		client.MatchingFields{FreeHostIndex: FreeHost},
		client.UnsafeDisableDeepCopy,
	); err != nil {
		return nil, fmt.Errorf("listing free ElementalHosts: %w", err)
	}
	hosts := make([]*infrav1.ElementalHost, 0, len(free.Items))
	for i := range free.Items {
		if selector.Matches(VouchedLabels(&free.Items[i])) && c.eligible(&free.Items[i], claim) {
			hosts = append(hosts, &free.Items[i])
		}
	}
	slices.SortFunc(hosts, func(a, b *infrav1.ElementalHost) int {
		wanted := claim.Machine.Spec.OSVersionManagement
		return cmp.Or(cmp.Compare(rank(a, wanted), rank(b, wanted)), cmp.Compare(a.Name, b.Name))
	})
	return hosts, nil
}

// FailureDomain returns the failure domain of a host; empty if none is set. Hosts cannot propose this label themselves.
func FailureDomain(host *infrav1.ElementalHost) string { return host.Labels[FailureDomainLabel] }

// VouchedLabels returns the labels of a host without those that it proposed itself: otherwise a host could choose its cluster.
func VouchedLabels(host *infrav1.ElementalHost) labels.Set {
	vouched := labels.Set(maps.Clone(host.Labels))
	for _, proposed := range strings.Split(host.Annotations[infrav1.ProposedLabelsAnnotation], ",") {
		delete(vouched, proposed)
	}
	return vouched
}

// eligible drops hosts that are free, but not for this machine or this manager.
func (c *Claimer) eligible(host *infrav1.ElementalHost, claim Claim) bool {
	if annotations.HasPaused(host) {
		return false
	}
	if c.WatchFilterValue != "" && !capilabels.HasWatchLabel(host, c.WatchFilterValue) {
		return false
	}
	// A registration may reserve its hosts for one cluster.
	if cluster := host.Labels[clusterv1.ClusterNameLabel]; cluster != "" && cluster != claim.ClusterName {
		return false
	}
	return claim.FailureDomain == "" || FailureDomain(host) == claim.FailureDomain
}

// rank sorts hosts that need no change of the OS first.
func rank(host *infrav1.ElementalHost, wanted infrav1.OSVersionManagement) int {
	if hoststate.Runs(host, wanted) == hoststate.MatchSame {
		return 0
	}
	return 1
}

// pick returns the first candidate or, once a candidate has been lost to another machine, one that depends on the machine, so that many
// machines do not compete for the same host again.
func pick(hosts []*infrav1.ElementalHost, machine *infrav1.ElementalMachine, lost int) *infrav1.ElementalHost {
	if lost == 0 {
		return hosts[0]
	}
	sum := fnv.New32a()
	fmt.Fprintf(sum, "%s/%d", machine.UID, lost)
	return hosts[int(sum.Sum32()%uint32(len(hosts)))]
}
