// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package restart_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// moment is a state in an upgrade that a watch can observe.
type moment struct {
	// of is the kind of the object that shows it.
	of client.ObjectList
	// inWorkload is set if the object is in the workload cluster.
	inWorkload bool
	// shows returns a function that is called with each state of each object and reports whether this is the moment.
	shows func(wanted image.Image) func(object client.Object) bool
	hold
}

// hold keeps an upgrade in a moment until the spec releases it: it would otherwise leave the moment by itself, possibly
// before it is written to the object.
type hold struct {
	// host is the phase in which the host is blocked.
	host infrav1.HostUpgradePhase
	// drain keeps Pods from being evicted.
	drain bool
}

// The moments of an upgrade, in order.
var (
	requested    = atAttempt(func(*infrav1.ElementalHostUpgrade) bool { return true })
	preflight    = atStep("Preflight")
	acknowledged = atHostPhase(infrav1.HostUpgradeAcknowledged, infrav1.HostUpgradeFetching, infrav1.HostUpgradeFetched)
	fetched      = atHostPhase(infrav1.HostUpgradeFetched)
	admitted     = moment{of: &infrav1.ElementalClusterList{}, shows: func(image.Image) func(client.Object) bool {
		return func(object client.Object) bool {
			return len(object.(*infrav1.ElementalCluster).Status.UpgradeSlots) > 0
		}
	}}
	cordoned = moment{of: &corev1.NodeList{}, inWorkload: true, shows: func(image.Image) func(client.Object) bool {
		return func(object client.Object) bool { return object.(*corev1.Node).Spec.Unschedulable }
	}}
	draining  = atStep("Drain").whileHeld(hold{drain: true})
	triggered = atHost(func(host *infrav1.ElementalHost, _ image.Image) bool {
		return host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending
	})
	applying  = heldAt(infrav1.HostUpgradeApplying) // half of the image is written
	rebooting = heldAt(infrav1.HostUpgradeRebooting)
	assessing = heldAt(infrav1.HostUpgradeAssessing)
	booted    = atHost(func(host *infrav1.ElementalHost, wanted image.Image) bool {
		return host.Status.OS.Digest == wanted.PlatformDigest
	})
	assessed      = atHostPhase(infrav1.HostUpgradeSucceeded)
	waitsInAssess = atStep("Assess").whileHeld(hold{host: infrav1.HostUpgradeAssessing})
	uncordoned    = moment{of: &corev1.NodeList{}, inWorkload: true, shows: func(image.Image) func(client.Object) bool {
		was := false
		return func(object client.Object) bool {
			is := object.(*corev1.Node).Spec.Unschedulable
			was = was || is
			return was && !is
		}
	}}
	succeeded = atEnd(infrav1.UpgradeSucceeded)
)

func atAttempt(shows func(*infrav1.ElementalHostUpgrade) bool) moment {
	return moment{of: &infrav1.ElementalHostUpgradeList{}, shows: func(wanted image.Image) func(client.Object) bool {
		return func(object client.Object) bool {
			upgrade := object.(*infrav1.ElementalHostUpgrade)
			return upgrade.Spec.ImageURI == wanted.URI() && shows(upgrade)
		}
	}}
}

func atEnd(phase infrav1.UpgradePhase) moment {
	return atAttempt(func(u *infrav1.ElementalHostUpgrade) bool { return u.Status.Phase == phase })
}

// atStep is when an attempt is reported to wait in a step.
func atStep(name string) moment {
	return atAttempt(func(u *infrav1.ElementalHostUpgrade) bool { return u.Status.Step == name })
}

func atHost(shows func(*infrav1.ElementalHost, image.Image) bool) moment {
	return moment{of: &infrav1.ElementalHostList{}, shows: func(wanted image.Image) func(client.Object) bool {
		return func(object client.Object) bool { return shows(object.(*infrav1.ElementalHost), wanted) }
	}}
}

// atHostPhase is when a host reports one of the phases.
func atHostPhase(phases ...infrav1.HostUpgradePhase) moment {
	return atHost(func(host *infrav1.ElementalHost, _ image.Image) bool {
		if host.Status.Upgrade == nil || host.Spec.Upgrade == nil || host.Status.Upgrade.Attempt != host.Spec.Upgrade.Attempt {
			return false
		}
		for _, phase := range phases {
			if host.Status.Upgrade.Phase == phase {
				return true
			}
		}
		return false
	})
}

// heldAt is when a host reports the phase, in which it is blocked.
func heldAt(phase infrav1.HostUpgradePhase) moment {
	return atHostPhase(phase).whileHeld(hold{host: phase})
}

// whileHeld is the moment with a hold that keeps an upgrade in it.
func (m moment) whileHeld(by hold) moment {
	m.hold = by
	return m
}

// watch starts to watch for a moment and returns a channel that is closed when it occurs.
func (m moment) watch(ctx context.Context, wanted image.Image) <-chan struct{} {
	GinkgoHelper()
	kube, options := theLab.Kube, []client.ListOption{client.InNamespace(cluster.Namespace())}
	if m.inWorkload {
		kube, options = theLab.WorkloadKube, nil
	}
	shows, come := m.shows(wanted), make(chan struct{})
	suite.Follow(ctx, kube, m.of.DeepCopyObject().(client.ObjectList), func(event watch.Event) (enough bool) {
		object, isObject := event.Object.(client.Object)
		if !isObject || !shows(object) {
			return false
		}
		close(come)
		return true
	}, options...)
	return come
}
