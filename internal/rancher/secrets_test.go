// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

// newCache of plan secrets, with the index.
func newCache(ctx context.Context, namespace string) cache.Cache {
	GinkgoHelper()
	caching := rancher.CacheOptions(namespace)
	caching.Scheme = server.Scheme
	drains, err := cache.New(server.Config, caching)
	Expect(err).NotTo(HaveOccurred())
	Expect(rancher.AddIndex(ctx, drains)).To(Succeed())
	running, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- drains.Start(running) }()
	DeferCleanup(func() { cancel(); Expect(<-ended).To(Succeed()) })
	Expect(drains.WaitForCacheSync(ctx)).To(BeTrue())
	return drains
}

func addSecret(ctx context.Context, namespace, name string, labels, annotations map[string]string) {
	GinkgoHelper()
	Expect(server.Client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, Annotations: annotations},
		Type:       "rke.cattle.io/machine-plan", Data: map[string][]byte{"plan": []byte("secret")},
	})).To(Succeed())
}

func of(machine string) map[string]string {
	return map[string]string{rancher.MachineNameLabel: machine}
}

var _ = DescribeTable("The drain of a Machine is found", func(ctx SpecContext, isOneNamespace bool) {
	namespace, other := server.NewNamespace(ctx), server.NewNamespace(ctx)
	addSecret(ctx, namespace, "m-machine-plan", of("m"), annotations{options: "T"})
	addSecret(ctx, namespace, "without-drain", of("idle"), nil)
	addSecret(ctx, namespace, "unlabelled", nil, annotations{options: "X"})
	addSecret(ctx, namespace, "a-former", of("twice"), nil)
	addSecret(ctx, namespace, "b-drained", of("twice"), annotations{options: "U"})
	addSecret(ctx, other, "m-machine-plan", of("m"), annotations{options: "other"})
	of := ""
	if isOneNamespace {
		of = namespace
	}
	drains := newCache(ctx, of)
	for machine, expected := range map[string]string{"m": "T", "idle": "", "twice": "U", "unknown": "", "": ""} {
		drain, err := rancher.DrainOf(ctx, drains, namespace, machine)
		Expect(err).NotTo(HaveOccurred())
		Expect(drain.Options).To(Equal(expected), "Machine %s", machine)
	}
	idle, err := rancher.DrainOf(ctx, drains, namespace, "idle")
	Expect(err).NotTo(HaveOccurred())
	Expect(idle.Secret).To(And(Not(BeNil()), HaveField("Name", "without-drain"), HaveField("ManagedFields", BeEmpty())))
	Expect(rancher.DrainOf(ctx, drains, namespace, "unknown")).To(Equal(rancher.Drain{}))
},
	Entry("in the namespace that is watched", true),
	Entry("in all namespaces", false),
)

var _ = It("Without the index no drain is found, and that is an error", func(ctx SpecContext) {
	drains, err := cache.New(server.Config, cache.Options{Scheme: server.Scheme})
	Expect(err).NotTo(HaveOccurred())
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { _ = drains.Start(running) }()
	_, err = rancher.DrainOf(ctx, drains, "default", "m")
	Expect(err).To(MatchError(ContainSubstring("looking for the plan secret of Machine m")))
})
