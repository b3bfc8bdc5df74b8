// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// The suite has one cluster with two workers; each spec builds on the state that the previous one
// left.
var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
)

func TestObserve(t *testing.T) {
	specs.Run(t, "Observe")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{})
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{Workers: 2})
})

// short is the name of an image in the status line.
func short(os image.Image) string {
	const length = len("sha256:") + 12
	return os.PlatformDigest[:length]
}

// ours are this provider's samples; those of the Elemental API have suites of their own.
func ours(ctx context.Context) (map[string]float64, error) {
	samples, err := theLab.Metrics(ctx)
	maps.DeleteFunc(samples, func(name string, _ float64) bool {
		return !strings.HasPrefix(name, "elemental_") || strings.HasPrefix(name, "elemental_hostapi_")
	})
	return samples, err
}

// sample is one of them, for Eventually.
func sample(ctx context.Context, name string) func() (float64, error) {
	return func() (float64, error) {
		samples, err := ours(ctx)
		value, found := samples[name]
		if err == nil && !found {
			err = fmt.Errorf("no sample %s", name)
		}
		return value, err
	}
}

// line is the status line of the cluster, with its reason.
func line(ctx context.Context) func() (string, error) {
	return func() (string, error) {
		object := &infrav1.ElementalCluster{}
		err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: cluster.Options.Name}, object)
		if said := conditions.Get(object, infrav1.NodesUpToDateCondition); said != nil {
			return said.Reason + ": " + said.Message, err
		}
		return "", err
	}
}

// happened are the events with a reason, as the names of the objects that they are about.
func happened(ctx context.Context, reason string) func() ([]string, error) {
	return func() ([]string, error) {
		list := &eventsv1.EventList{}
		err := theLab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()))
		about := []string{}
		for i := range list.Items {
			if list.Items[i].Reason == reason {
				about = append(about, list.Items[i].Regarding.Kind+"/"+list.Items[i].Regarding.Name)
			}
		}
		return about, err
	}
}

func hostNamed(ctx context.Context, name string) func() (*infrav1.ElementalHost, error) {
	return func() (*infrav1.ElementalHost, error) {
		host := &infrav1.ElementalHost{}
		return host, theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: name}, host)
	}
}

// machineOf is the ElementalMachine that a host serves.
func machineOf(ctx context.Context, host string) func() (*infrav1.ElementalMachine, error) {
	return func() (*infrav1.ElementalMachine, error) {
		serving, err := hostNamed(ctx, host)()
		if err != nil || serving.Spec.MachineRef == nil {
			return nil, fmt.Errorf("reading ElementalHost %s: %w", host, err)
		}
		machine := &infrav1.ElementalMachine{}
		return machine, theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: serving.Spec.MachineRef.Name}, machine)
	}
}

// haveCondition matches an object by status and reason of one of its conditions.
func haveCondition(conditionType, want string) OmegaMatcher {
	return WithTransform(func(object conditions.Getter) string {
		condition := conditions.Get(object, conditionType)
		if condition == nil {
			return "none"
		}
		return string(condition.Status) + "/" + condition.Reason
	}, Equal(want))
}

func upgrades(host string) int {
	GinkgoHelper()
	count, err := theLab.Host(host).Upgrades()
	Expect(err).NotTo(HaveOccurred())
	return count
}
