// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
)

var _ = Describe("A kubelet", func() {
	var (
		host *system.Host
		port string
		// well is what the kubelet answers.
		well int
	)
	ctx := context.Background()

	write := func(path, content string) {
		GinkgoHelper()
		path = host.Path(path)
		Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		Expect(os.WriteFile(path, []byte(content), 0o644)).To(Succeed())
	}
	judge := func() assess.Verdict {
		GinkgoHelper()
		verdict, err := assess.Boot(ctx, host, assess.Question{Bootstrapped: true, IgnoreUnits: true})
		Expect(err).NotTo(HaveOccurred())
		return verdict
	}

	BeforeEach(func() {
		runner := &systemtest.Runner{}
		runner.Say(askToolkit, "active\n")
		runner.Say(askKubelet, "active\n")
		host = &system.Host{Root: GinkgoT().TempDir(), Runner: runner, Clock: systemtest.NewClock()}
		well = http.StatusOK
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" {
				http.NotFound(w, r)
				return
			}
			w.WriteHeader(well)
			_, _ = fmt.Fprintln(w, "[-]syncloop failed")
		}))
		DeferCleanup(server.Close)
		var err error
		_, port, err = net.SplitHostPort(server.Listener.Addr().String())
		Expect(err).NotTo(HaveOccurred())
		write("/proc/meminfo", "no process")
	})

	DescribeTable("is asked where it says that it is well", func(name string, args []string, files map[string]string) {
		replace := func(text string) string { return strings.ReplaceAll(text, "PORT", port) }
		for path, content := range files {
			write(path, replace(content))
		}
		for i := range args {
			args[i] = replace(args[i])
		}
		runProcess(host, "812", name, "S", "100", args...)
		Expect(judge()).To(And(HaveField("State", assess.Good), HaveField("Kubelet", name+" 812 (started at 100) ")))
		well = http.StatusInternalServerError
		Expect(judge()).To(And(HaveField("State", assess.Undecided), HaveField("Reasons", []string{
			"the kubelet is not healthy: http://127.0.0.1:" + port + "/healthz answers 500 Internal Server Error: [-]syncloop failed",
		})))
	},
		Entry("by its configuration", "kubelet", []string{"/usr/bin/kubelet", "--config=/var/lib/kubelet/config.yaml"},
			map[string]string{"/var/lib/kubelet/config.yaml": "kind: KubeletConfiguration\nhealthzPort: PORT\nhealthzBindAddress: 0.0.0.0\n"}),
		Entry("by what is dropped in, in the order of the names", "kubelet", []string{"kubelet", "--config", "/a.yaml", "--config-dir", "/conf.d"},
			map[string]string{"/a.yaml": "healthzPort: 1", "/conf.d/20.conf": "healthzPort: PORT", "/conf.d/10.conf": "healthzPort: 2", "/conf.d/30.yaml": "healthzPort: 3"}),
		Entry("by its command line", "kubelet", []string{"kubelet", "--config=/a.yaml", "-healthz-port=PORT", "--healthz-bind-address=127.0.0.1"},
			map[string]string{"/a.yaml": "healthzPort: 1\nhealthzBindAddress: 192.0.2.1\n"}),
		Entry("by an option that is given twice, the last of which has no value", "kubelet", []string{"kubelet", "--healthz-port", "PORT", "--healthz-port"}, nil),
		Entry("not by what K3s itself is configured with", "k3s-agent", []string{"k3s", "--config=/k3s.yaml"},
			map[string]string{"/k3s.yaml": "healthzBindAddress: 127.0.0.9", "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00-k3s-defaults.conf": "healthzPort: PORT"}),
		Entry("as K3s has it configured", "k3s-agent", []string{"/usr/local/bin/k3s agent"},
			map[string]string{"/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00-k3s-defaults.conf": "healthzPort: PORT"}),
	)

	It("is one of those that run, while others end", func() {
		runProcess(host, "812", "kubelet", "S", "100", "kubelet", "--healthz-port=0")
		for pid, file := range map[string]string{"5": "stat", "6": "cmdline", "7": "status", "9": "cgroup"} {
			runProcess(host, pid, "kubelet", "S", "200", "kubelet", "--healthz-port=0")
			Expect(os.Remove(host.Path("/proc/" + pid + "/" + file))).To(Succeed())
		}
		runProcess(host, "8", "kubelet", "S", "200", "kubelet", "--healthz-port=0")
		write("/proc/8/stat", "8")
		Expect(judge()).To(And(HaveField("State", assess.Good), HaveField("Kubelet", "kubelet 812 (started at 100) ")))
	})

	It("need not say it", func() {
		runProcess(host, "812", "kubelet", "S", "100", "kubelet", "--healthz-port=0")
		Expect(judge()).To(HaveField("State", assess.Good))
	})

	It("has another name when it was started again, also as the same process number", func() {
		runProcess(host, "812", "kubelet", "S", "100", "kubelet", "--healthz-port=0")
		before := judge().Kubelet
		Expect(judge().Kubelet).To(Equal(before))
		runProcess(host, "812", "kubelet", "S", "200", "kubelet", "--healthz-port=0")
		Expect(judge().Kubelet).NotTo(Equal(before))
	})

	DescribeTable("is not what only has its name", func(file, content string) {
		runProcess(host, "812", "kubelet", "S", "100", "kubelet", "--healthz-port=0")
		runProcess(host, "99", "kubelet", "S", "200", "kubelet", "--config=/none")
		write("/proc/99/"+file, content)
		Expect(judge()).To(And(HaveField("State", assess.Good), HaveField("Kubelet", "kubelet 812 (started at 100) ")))
	},
		Entry("in a container", "status", "Uid:\t0\t0\t0\t0\nNSpid:\t99\t7\n"),
		Entry("in a Pod that sees the host's processes", "cgroup", "0::/kubepods.slice/kubepods-besteffort.slice/cri-containerd-1.scope\n"),
		Entry("in a Pod, with a group for each controller", "cgroup", "2:memory:/kubepods/besteffort/pod1\n1:name=systemd:/kubepods/besteffort/pod1\n"),
		Entry("of nobody that can be told", "status", "NSpid:\t99\n"),
		Entry("of a user", "status", "Uid:\t1000\t1000\t1000\t1000\nNSpid:\t99\n"),
	)

	It("cannot make the assessment wait for its configuration", func() {
		runProcess(host, "812", "kubelet", "S", "100", "kubelet", "--config=/fifo")
		Expect(syscall.Mkfifo(host.Path("/fifo"), 0o644)).To(Succeed())
		Expect(judge()).To(HaveField("Reasons", ConsistOf(ContainSubstring("/fifo is not a regular file"))))
	})

	It("cannot have the agent read without an end", func() {
		runProcess(host, "812", "kubelet", "S", "100", "kubelet", "--config=/long")
		write("/long", strings.Repeat("#", 1<<20+1))
		Expect(judge()).To(HaveField("Reasons", ConsistOf(ContainSubstring("/long is longer than 1048576 bytes"))))
	})

	DescribeTable("is waited for", func(change func(), reason string) {
		change()
		Expect(judge()).To(And(HaveField("State", assess.Undecided), HaveField("Reasons", ConsistOf(ContainSubstring(reason)))))
	},
		Entry("when only its unit is active", func() { runProcess(host, "1", "systemd", "S", "1", "init") }, "no kubelet runs (process kubelet, k3s-server, k3s-agent)"),
		Entry("when it has ended and nobody has noticed", func() { runProcess(host, "812", "kubelet", "Z", "100") }, "no kubelet runs"),
		Entry("when it does not answer", func() { runProcess(host, "812", "kubelet", "S", "100", "kubelet", "--healthz-port=1") }, "the kubelet does not answer at http://127.0.0.1:1/healthz"),
		Entry("where it listens and nowhere else", func() {
			runProcess(host, "812", "kubelet", "S", "100", "kubelet", "--healthz-port="+port, "--healthz-bind-address=127.0.0.3")
		}, "the kubelet does not answer at http://127.0.0.3:"),
		Entry("where its name leads", func() {
			runProcess(host, "812", "kubelet", "S", "100", "kubelet", "--healthz-port=1", "--healthz-bind-address=localhost")
		}, "the kubelet does not answer at http://localhost:1/healthz"),
		Entry("at the loopback of IPv6", func() {
			runProcess(host, "812", "kubelet", "S", "100", "kubelet", "--healthz-port=1", "--healthz-bind-address=::")
		}, "the kubelet does not answer at http://[::1]:1/healthz"),
		Entry("when the kernel says nothing of it any more", func() {
			runProcess(host, "812", "kubelet", "S", "100")
			write("/proc/812/stat", "812 (kubelet) S 1"+strings.Repeat(" 0", 17)+"\n")
		}, "no kubelet runs"),
		Entry("when its configuration cannot be read", func() { runProcess(host, "812", "kubelet", "S", "100", "kubelet", "--config=/none") }, "reading its configuration"),
		Entry("when its port is none", func() { runProcess(host, "812", "kubelet", "S", "100", "kubelet", "--healthz-port=x") }, `its option --healthz-port is "x"`),
	)
})
