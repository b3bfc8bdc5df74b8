// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// orders are the configuration of a server, on its standard input.
type orders struct {
	Host, Folder  string
	CA, Cert, Key []byte
}

// started is what a server prints when it listens.
type started struct {
	Endpoint string
	CA       []byte
}

// question is a request to a server, one per line.
type question struct {
	// Collect runs the garbage collector first, so that only memory in use is counted.
	Collect bool
}

// usage is a server's response about itself.
type usage struct {
	HeapBytes, StackBytes, RSSBytes, PeakRSSBytes uint64
	Goroutines                                    int
	CPU                                           time.Duration
	// HeldPolls is the current number, and DroppedConnections that since it started.
	HeldPolls, DroppedConnections int
}

// serve is the main function of the server process.
func serve(in io.Reader, out io.Writer) error {
	log.SetLogger(logr.Discard())
	lines, encoder := bufio.NewScanner(in), json.NewEncoder(out)
	given := orders{}
	if !lines.Scan() {
		return errors.New("no orders")
	}
	if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
		return fmt.Errorf("reading orders: %w", err)
	}
	api, err := startAPI(given)
	if err != nil {
		return err
	}
	profile()
	if err := encoder.Encode(started{Endpoint: api.Endpoint, CA: api.CA}); err != nil {
		return err
	}
	for lines.Scan() {
		asked := question{}
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return fmt.Errorf("reading question: %w", err)
		}
		measured, err := measure(asked)
		if err != nil {
			return err
		}
		if err := encoder.Encode(measured); err != nil {
			return err
		}
	}
	return api.Stop()
}

func startAPI(given orders) (*apitest.API, error) {
	scheme := kuberuntime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), infrav1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	plane := &apiserver.Server{Scheme: scheme, Config: &rest.Config{
		Host: given.Host, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: given.CA, CertData: given.Cert, KeyData: given.Key},
	}}
	return apitest.StartAPI(plane, given.Folder, nil)
}

// profile serves net/http/pprof, if it is configured.
func profile() {
	address := os.Getenv(profileVariable)
	if address == "" {
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { _ = server.ListenAndServe() }()
}

func measure(asked question) (usage, error) {
	if asked.Collect {
		runtime.GC()
		debug.FreeOSMemory()
	}
	memory, times := runtime.MemStats{}, syscall.Rusage{}
	runtime.ReadMemStats(&memory)
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &times); err != nil {
		return usage{}, fmt.Errorf("reading processor time: %w", err)
	}
	own, err := gather("elemental_hostapi_held_polls", "elemental_hostapi_dropped_connections_total")
	if err != nil {
		return usage{}, err
	}
	memoryNow, err := resident("VmRSS", "VmHWM")
	if err != nil {
		return usage{}, err
	}
	return usage{
		HeapBytes: memory.HeapAlloc, StackBytes: memory.StackInuse, RSSBytes: memoryNow[0], PeakRSSBytes: memoryNow[1],
		Goroutines: runtime.NumGoroutine(), CPU: time.Duration(times.Utime.Nano() + times.Stime.Nano()),
		HeldPolls: own[0], DroppedConnections: own[1],
	}, nil
}

// gather reads metrics without labels.
func gather(names ...string) ([]int, error) {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("gathering metrics: %w", err)
	}
	values := make([]int, len(names))
	for _, family := range families {
		if at := slices.Index(names, family.GetName()); at >= 0 {
			one := family.GetMetric()[0]
			values[at] = int(one.GetGauge().GetValue() + one.GetCounter().GetValue())
		}
	}
	return values, nil
}

// resident memory by its name in /proc/self/status, in bytes.
func resident(names ...string) ([]uint64, error) {
	content, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	values := make([]uint64, len(names))
	for line := range strings.Lines(string(content)) {
		name, rest, _ := strings.Cut(line, ":")
		at := slices.Index(names, name)
		if at < 0 {
			continue
		}
		kibibytes, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		values[at] = kibibytes << 10
	}
	return values, nil
}
