// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess_test

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// runProcess shows a process of root's, as the kernel does.
func runProcess(host *system.Host, pid, name, state, started string, args ...string) {
	GinkgoHelper()
	files := map[string]string{
		"stat":    pid + " (" + name + ") " + state + " 1" + strings.Repeat(" 0", 17) + " " + started + " 0 0\n",
		"cmdline": strings.Join(args, "\x00") + "\x00",
		"status":  "Name:\t" + name + "\nUid:\t0\t0\t0\t0\nNSpid:\t" + pid + "\n",
		"cgroup":  "0::/system.slice/kubelet.service\n",
	}
	for file, content := range files {
		path := host.Path(filepath.Join("/proc", pid, file))
		Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		Expect(os.WriteFile(path, []byte(content), 0o644)).To(Succeed())
	}
}
