// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"
)

var writingVerbs = []string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}

// tally is the number of requests to the kube-apiserver for hosts, registrations and Secrets, and its CPU time in
// seconds.
type tally struct{ writes, reads, cpu float64 }

func (t tally) since(before tally) tally {
	return tally{t.writes - before.writes, t.reads - before.reads, t.cpu - before.cpu}
}

// count reads the kube-apiserver's own counters. Watches are not counted as requests.
func count(ctx context.Context) tally {
	GinkgoHelper()
	clients, err := kubernetes.NewForConfig(plane.Config)
	Expect(err).NotTo(HaveOccurred())
	text, err := clients.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	sum := tally{}
	for line := range strings.SplitSeq(string(text), "\n") {
		isCPU := strings.HasPrefix(line, "process_cpu_seconds_total ")
		if !isCPU && (!strings.HasPrefix(line, "apiserver_request_total{") || !ours(line)) {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		Expect(err).NotTo(HaveOccurred())
		switch verb := label(line, "verb"); {
		case isCPU:
			sum.cpu = value
		case slices.Contains(writingVerbs, verb):
			sum.writes += value
		case verb != "WATCH":
			sum.reads += value
		}
	}
	return sum
}

func ours(line string) bool {
	return slices.Contains([]string{"elementalhosts", "elementalregistrations", "secrets"}, label(line, "resource"))
}

func label(line, name string) string {
	_, rest, _ := strings.Cut(line, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// quantile of durations, which it sorts.
func quantile(durations []time.Duration, at float64) time.Duration {
	slices.Sort(durations)
	return durations[int(float64(len(durations)-1)*at)].Round(10 * time.Microsecond)
}
