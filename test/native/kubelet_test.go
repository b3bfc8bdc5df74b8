// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/phase"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

const (
	// kubeletName is the name under which the test binary acts as a machine's kubelet.
	kubeletName = "kubelet"
	// kubeletPort is the line of its configuration that is used.
	kubeletPort = "healthzPort: "
	// While these files exist it reports unhealthy, or exits a second after its start.
	kubeletIll  = "/native/kubelet-ill"
	kubeletDies = "/native/kubelet-dies"
)

// playKubelet simulates what the agent uses of a kubelet.
func playKubelet(args []string) error {
	content, err := os.ReadFile(args[len(args)-1])
	if err != nil {
		return err
	}
	if _, err := os.Stat(kubeletDies); err == nil {
		time.AfterFunc(time.Second, func() { os.Exit(1) })
	}
	answer := func(w http.ResponseWriter, _ *http.Request) {
		if _, err := os.Stat(kubeletIll); err == nil {
			http.Error(w, "[-]syncloop failed", http.StatusInternalServerError)
		}
	}
	_, port, _ := strings.Cut(strings.TrimSpace(string(content)), kubeletPort)
	server := &http.Server{Addr: net.JoinHostPort("127.0.0.1", port), Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

var _ = Describe("The boot of a node", func() {
	var (
		m    *machine
		port string
	)

	// shared is a file of the machine that all of its boots share.
	shared := func(path string) string { return filepath.Join(m.share, strings.TrimPrefix(path, "/native/")) }

	// boot makes the machine boot an OS with a kubelet in the state of a file.
	boot := func(state string) (digest string) {
		GinkgoHelper()
		osimage.Write(shared(state), "")
		uri, digest := push(m.registry, "v2", kernel, files{"etc/kubelet.yaml": kubeletPort + port + "\n"})
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		return digest
	}

	says := func(message string) {
		GinkgoHelper()
		Eventually(m.attempt).Should(And(HaveField("Phase", wire.PhaseAssessing), HaveField("Message", ContainSubstring(message))))
	}

	succeeds := func(digest string) {
		GinkgoHelper()
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", digest), HaveField("Message", BeEmpty())))
		Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("BootID", "boot-2")))
	}

	BeforeEach(func() {
		m = newMachine()
		Expect(phase.MarkBootstrapped(m.path(config.DefaultWorkDir))).To(Succeed())
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		_, port, err = net.SplitHostPort(listener.Addr().String())
		Expect(err).NotTo(HaveOccurred())
		Expect(listener.Close()).To(Succeed())
	})

	It("is healthy when the kubelet answers at its configured port, and not before", func() {
		digest := boot(kubeletIll)
		says("the kubelet is not healthy: http://127.0.0.1:" + port + "/healthz answers 500 Internal Server Error: [-]syncloop failed")
		Expect(os.Remove(shared(kubeletIll))).To(Succeed())
		succeeds(digest)
	})

	It("ignores the kubelet of a container", func() {
		digest := boot(kubeletIll)
		says("the kubelet is not healthy")
		m.within("mkfifo /tmp/pipe", "{ unshare --pid --fork /native/bin/kubelet --config /tmp/pipe & }")
		Eventually(func() []process { return m.named(kubeletName) }).Should(HaveLen(2))
		Expect(os.Remove(shared(kubeletIll))).To(Succeed())
		succeeds(digest)
		Expect(m.named(kubeletName)).To(HaveLen(2))
	})

	It("is healthy when the kubelet keeps running, and not while it is restarted repeatedly", func() {
		digest := boot(kubeletDies)
		says("with the same kubelet")
		Consistently(m.attempt, 10*time.Second).Should(HaveField("Phase", wire.PhaseAssessing))
		Expect(os.Remove(shared(kubeletDies))).To(Succeed())
		succeeds(digest)
	})
})
