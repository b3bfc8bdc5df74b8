#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  k8s.io/client-go v0.36.3
# Guess:     An eviction that the API server answers with 429 returns at once. The caller decides when to try again, as kubectl
#            drain and Cluster API do every few seconds.
# Behaviour: With a Retry-After header client-go itself sends the request ten more times, and waits that long each time, before
#            the caller sees the error. kube-apiserver sends 10 seconds for a PodDisruptionBudget that its controller has not
#            looked at since it changed, so one call can take 100 seconds. A plain refusal has no such header and returns at
#            once. Both have the same code, reason and first words.
# Seen:      what expect compares below. The times are those of the test server, one second instead of ten.
# Source:    rest/with_retry.go and rest/request.go (maxRetries) of client-go; createTooManyRequestsError and checkAndDecrement
#            in pkg/registry/core/pod/storage/eviction.go of Kubernetes; https://github.com/kubernetes/kubernetes/issues/36409
# Here:      Cluster API's drain, which internal/workload/drain.go uses, gives all evictions of a look ten seconds together.
#            internal/workload/refusals.go blames no budget for evictions that it then had no time for.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_modules k8s.io/client-go@v0.36.3 k8s.io/api@v0.36.3 k8s.io/apimachinery@v0.36.3
go_run <<'GO'
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const refusal = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"message":"refused"}`

// evict asks for one eviction from a server that refuses all.
func evict(retryAfter string) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Content-Type", "application/json")
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, refusal)
	}))
	defer server.Close()
	clients := kubernetes.NewForConfigOrDie(&rest.Config{Host: server.URL, QPS: -1})
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	err := clients.CoreV1().Pods("default").EvictV1(context.Background(), eviction)
	fmt.Printf("Retry-After %q: %d requests for one call, IsTooManyRequests: %v\n", retryAfter, requests, apierrors.IsTooManyRequests(err))
}

func main() {
	evict("")
	evict("1")
}
GO
expect <<'SEEN'
Retry-After "": 1 requests for one call, IsTooManyRequests: true
Retry-After "1": 11 requests for one call, IsTooManyRequests: true
SEEN
