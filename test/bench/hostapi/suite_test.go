// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// serverVariable makes this test binary run the server instead of the tests.
	serverVariable  = "HOSTAPI_BENCH_SERVER"
	hostsVariable   = "HOSTAPI_BENCH_HOSTS"
	idleVariable    = "HOSTAPI_BENCH_IDLE"
	profileVariable = "HOSTAPI_BENCH_PPROF"
)

var (
	plane  *apiserver.Server
	server *process
	fleet  size
	// idle is at least the maximum interval between two garbage collections.
	idle = 2 * time.Minute
)

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) == "" {
		os.Exit(m.Run())
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestHostAPIBenchmark(t *testing.T) {
	specs.Run(t, "Host API benchmark")
}

var _ = BeforeSuite(func() {
	fleet = chooseSize()
	if value := os.Getenv(idleVariable); value != "" {
		var err error
		idle, err = time.ParseDuration(value)
		Expect(err).NotTo(HaveOccurred(), idleVariable)
	}
	plane = apiserver.StartForSuite()
	server = startServer()
})

// process is the server's process.
type process struct {
	started
	in  io.WriteCloser
	out *bufio.Scanner
}

func startServer() *process {
	GinkgoHelper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), serverVariable+"=1")
	command.Stderr = GinkgoWriter
	in, err := command.StdinPipe()
	Expect(err).NotTo(HaveOccurred())
	out, err := command.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(command.Start()).To(Succeed())
	one := &process{in: in, out: bufio.NewScanner(out)}
	DeferCleanup(func() error {
		_ = in.Close()
		return command.Wait()
	})
	config := plane.Config
	one.say(orders{
		Host: config.Host, Folder: GinkgoT().TempDir(), CA: config.CAData, Cert: config.CertData, Key: config.KeyData,
	})
	one.hear(&one.started)
	return one
}

func (p *process) say(what any) {
	GinkgoHelper()
	Expect(json.NewEncoder(p.in).Encode(what)).To(Succeed())
}

func (p *process) hear(into any) {
	GinkgoHelper()
	Expect(p.out.Scan()).To(BeTrue(), "the server ended")
	Expect(json.Unmarshal(p.out.Bytes(), into)).To(Succeed())
}

// usage of the server in its current state.
func (p *process) usage() usage {
	GinkgoHelper()
	return p.ask(question{})
}

// held is the usage of the server after a garbage collection.
func (p *process) held() usage {
	GinkgoHelper()
	return p.ask(question{Collect: true})
}

func (p *process) ask(what question) usage {
	GinkgoHelper()
	p.say(what)
	answer := usage{}
	p.hear(&answer)
	return answer
}
