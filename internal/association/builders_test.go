// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// makeHost makes a host that is free, unless it is changed before or after it is created.
func makeHost(ctx SpecContext, ns, name string, changes ...func(*infrav1.ElementalHost)) *infrav1.ElementalHost {
	GinkgoHelper()
	host := &infrav1.ElementalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{}},
		Spec:       infrav1.ElementalHostSpec{Approved: true, PubKey: "key"},
		Status:     infrav1.ElementalHostStatus{Phase: infrav1.HostPhaseRunning, Installed: true, Agent: infrav1.HostAgent{Version: "v0.8.0"}},
	}
	for _, change := range changes {
		change(host)
	}
	status := host.Status
	Expect(server.Client.Create(ctx, host)).To(Succeed())
	host.Status = status
	Expect(server.Client.Status().Update(ctx, host)).To(Succeed())
	return host
}

func makeMachine(ctx SpecContext, ns, name string, changes ...func(*infrav1.ElementalMachine)) *infrav1.ElementalMachine {
	GinkgoHelper()
	machine := &infrav1.ElementalMachine{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	for _, change := range changes {
		change(machine)
	}
	Expect(server.Client.Create(ctx, machine)).To(Succeed())
	return machine
}

func claimOf(machine *infrav1.ElementalMachine) association.Claim {
	return association.Claim{
		Machine: machine, MachineName: "machine-" + machine.Name, ClusterName: "c1", BootstrapSecret: "bootstrap-" + machine.Name,
	}
}

// claimer is that of one of the managers.
func claimer(manager int) *association.Claimer {
	return &association.Claimer{Client: clients[manager], Live: server.Client}
}

// live reads an object from the API server.
func live[T client.Object](ctx SpecContext, object T) T {
	GinkgoHelper()
	Expect(server.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
}

// eventuallyCached waits until a manager's cache has the objects as the API server has them.
func eventuallyCached(ctx SpecContext, objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		for _, cached := range clients {
			Eventually(func(g Gomega) {
				copied := object.DeepCopyObject().(client.Object)
				g.Expect(cached.Get(ctx, client.ObjectKeyFromObject(object), copied)).To(Succeed())
				g.Expect(copied.GetResourceVersion()).To(Equal(object.GetResourceVersion()))
			}).WithContext(ctx).Should(Succeed())
		}
	}
}

// locked are the names of the hosts whose lock carries the machine's UID.
func locked(ctx SpecContext, machine *infrav1.ElementalMachine) []string {
	GinkgoHelper()
	hosts := &infrav1.ElementalHostList{}
	Expect(server.Client.List(ctx, hosts, client.InNamespace(machine.Namespace))).To(Succeed())
	var names []string
	for _, host := range hosts.Items {
		if host.Spec.MachineRef != nil && host.Spec.MachineRef.UID == machine.UID {
			names = append(names, host.Name)
		}
	}
	return names
}

// errCrash is what a write of a manager ends with that dies there.
var errCrash = errors.New("crash")

// eventually is how long a claim may take while others contend for the same hosts.
const eventually = specs.Patience

// watching lends a caching client a watch that nobody uses, which interceptors ask for.
func watching(inner client.Client) client.WithWatch { return notWatching{inner} }

type notWatching struct{ client.Client }

func (notWatching) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errors.New("not watching")
}
