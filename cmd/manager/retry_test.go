// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
)

var _ = Describe("A reconcile that fails", func() {
	request := func(name string) ctrl.Request { return ctrl.Request{NamespacedName: types.NamespacedName{Name: name}} }

	It("is tried again at once, and within 30 s however often it has failed", func() {
		retries := newRetries()
		Expect(retries.When(request("a"))).To(BeNumerically("<=", 6*time.Millisecond))
		for range 100 {
			Expect(retries.When(request("a"))).To(BeNumerically("<=", 30*time.Second))
		}
		Expect(retries.When(request("a"))).To(BeNumerically(">=", lastRetry))
		Expect(retries.When(request("b"))).To(BeNumerically("<=", 6*time.Millisecond), "each by itself")
		retries.Forget(request("a"))
		Expect(retries.When(request("a"))).To(BeNumerically("<=", 6*time.Millisecond), "it has succeeded meanwhile")
	})

	It("is not tried again together with all others that the same has stopped", func() {
		retries, first, last := newRetries(), time.Hour, time.Duration(0)
		for i := range 100 {
			at := time.Duration(0)
			for range 20 {
				at = retries.When(request(fmt.Sprint(i)))
			}
			first, last = min(first, at), max(last, at)
		}
		Expect(last - first).To(BeNumerically(">", time.Second))
	})

	It("is one of its controller's alone", func() {
		o := &options{concurrency: 7}
		Expect(o.limits().MaxConcurrentReconciles).To(Equal(7))
		Expect((&options{}).limits().MaxConcurrentReconciles).To(Equal(10*runtime.GOMAXPROCS(0)), "ten for each processor")
		one, other := o.limits().RateLimiter, o.limits().RateLimiter
		for range 20 {
			one.When(request("a"))
		}
		Expect(other.When(request("a"))).To(BeNumerically("<=", 6*time.Millisecond))
	})
})
