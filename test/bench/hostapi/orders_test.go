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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// orders are what a server is started with, on its standard input.
type orders struct {
	Host, Folder  string
	CA, Cert, Key []byte
}

// started is what a server says when it listens.
type started struct {
	Endpoint string
	CA       []byte
}

// usage is what a server says of itself, for each line that it is sent.
type usage struct {
	HeapBytes, StackBytes, RSSBytes uint64
	Goroutines                      int
	CPU                             time.Duration
}

// serve is the whole of the server process.
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
		if err := encoder.Encode(measure()); err != nil {
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

// profile serves net/http/pprof where HOSTAPI_BENCH_PPROF says, as "127.0.0.1:6060".
func profile() {
	address := os.Getenv("HOSTAPI_BENCH_PPROF")
	if address == "" {
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { _ = server.ListenAndServe() }()
}

// measure collects garbage first: what counts is what is held.
func measure() usage {
	runtime.GC()
	debug.FreeOSMemory()
	memory := runtime.MemStats{}
	runtime.ReadMemStats(&memory)
	times := syscall.Rusage{}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &times)
	return usage{
		HeapBytes: memory.HeapAlloc, StackBytes: memory.StackInuse, RSSBytes: resident(), Goroutines: runtime.NumGoroutine(),
		CPU: time.Duration(times.Utime.Nano() + times.Stime.Nano()),
	}
}

func resident() uint64 {
	content, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(content))
	pages, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}
