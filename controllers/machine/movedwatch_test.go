// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"fmt"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/moved"
)

// movedWatch looks at every version of every object that was moved, for what must not be there at any time. By the marks of an
// update, Cluster API sets the condition Updating of a Machine, and has the hook called that makes an attempt.
type movedWatch struct {
	pool *movedPool

	lock  sync.Mutex
	found []string
	// latest is the last resourceVersion seen of each object.
	latest map[string]string
}

// watched are the kinds that an update of a Machine changes.
func watched() []client.ObjectList {
	return []client.ObjectList{
		&clusterv1.MachineList{}, &infrav1.ElementalMachineList{}, &infrav1.ElementalHostList{}, &infrav1.ElementalHostUpgradeList{},
	}
}

// watch begins before the first object is there.
func (p *movedPool) watch(ctx SpecContext) *movedWatch {
	GinkgoHelper()
	seen := &movedWatch{pool: p, latest: map[string]string{}}
	for _, list := range watched() {
		watcher, err := server.Client.Watch(ctx, list, client.InNamespace(p.ns))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(watcher.Stop)
		go func() {
			for event := range watcher.ResultChan() {
				if object, isObject := event.Object.(client.Object); isObject && !moved.Away(object) {
					seen.look(event.Type, object)
				}
			}
		}()
	}
	return seen
}

func (s *movedWatch) look(change watch.EventType, object client.Object) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.latest[nameOf(object)] = object.GetResourceVersion()
	wrong := func(what string, is bool) {
		if is {
			s.found = append(s.found, nameOf(object)+" "+what)
		}
	}
	wrong("is deleted", change == watch.Deleted)
	for _, mark := range []string{clusterv1.UpdateInProgressAnnotation, runtimev1.PendingHooksAnnotation, clusterv1.PendingAcknowledgeMoveAnnotation} {
		_, marked := object.GetAnnotations()[mark]
		wrong("has the mark of an update "+mark, marked)
	}
	switch kind := object.(type) {
	case *infrav1.ElementalMachine:
		upToDate, drifted := s.pool.allowed(kind.Name)
		is, says := conditions.GetReason(kind, infrav1.OSUpToDateCondition), conditions.GetReason(kind, infrav1.OSDriftedCondition)
		wrong("says that it is not up to date: "+is, !slices.Contains(upToDate, is))
		wrong("says of its drift: "+says, !slices.Contains(drifted, says))
	case *infrav1.ElementalHost:
		_, asked := kind.Labels[infrav1.InPlaceUpgradeLabel]
		wrong("is asked for an upgrade", asked || kind.Spec.Upgrade != nil)
	case *infrav1.ElementalHostUpgrade:
		wrong("is a new attempt", s.pool.end[kind.Name] == "")
		wrong("goes on as "+string(kind.PhaseNow()), kind.PhaseNow() != s.pool.end[kind.Name])
	}
}

// allowed are the reasons that the conditions UpToDate and OSDrifted of a machine may have. They are empty at first. It is called
// beside the spec, whose writes decode their answers into the objects of the pool: none of those may be read here.
func (p *movedPool) allowed(machine string) (upToDate, drifted []string) {
	if machine == nameOfMachine(p.drifted) {
		is := []string{"", infrav1.HostOSUnknownReason, infrav1.HostRunsOtherOSReason}
		return is, is
	}
	return []string{"", infrav1.HostOSUnknownReason, clusterv1.ReadyReason}, []string{"", infrav1.HostOSUnknownReason, infrav1.NotDriftedReason}
}

func (s *movedWatch) violations() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.Clone(s.found)
}

// missed are the objects whose latest version has not been looked at yet, for Eventually.
func (s *movedWatch) missed(ctx SpecContext, p *movedPool) func() []string {
	return func() []string {
		objects := p.objects(ctx, watched()...)
		s.lock.Lock()
		defer s.lock.Unlock()
		missed := []string{}
		for _, object := range objects {
			if s.latest[nameOf(object)] != object.GetResourceVersion() {
				missed = append(missed, nameOf(object))
			}
		}
		return missed
	}
}

func nameOf(object client.Object) string { return fmt.Sprintf("%T %s", object, object.GetName()) }
