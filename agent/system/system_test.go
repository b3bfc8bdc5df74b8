// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
)

var _ = Describe("Processes", func() {
	run := func(script string) (system.Result, error) {
		return system.Processes{}.Run(context.Background(), system.Command{Name: "/bin/sh", Args: []string{"-c", script}, Env: []string{"GIVEN=yes"}})
	}

	It("tell how they ended and what they said", func() {
		Expect(run("echo $GIVEN; echo no >&2; exit 3")).To(Equal(system.Result{Stdout: "yes\n", Stderr: "no\n", ExitCode: 3}))
	})

	It("are killed when they take too long", func() {
		_, err := system.Processes{}.Run(context.Background(), system.Command{Name: "sleep", Args: []string{"60"}, Timeout: 50 * time.Millisecond})
		Expect(err).To(MatchError(`running "sleep 60": it was killed after the timeout of 50ms`))
	})

	It("hold a lock that they inherit until the last child of them has ended", func() {
		path := filepath.Join(GinkgoT().TempDir(), "run", "lock")
		held, err := system.Lock(path)
		Expect(err).NotTo(HaveOccurred())
		child, err := system.Processes{}.Run(context.Background(),
			system.Command{Name: "/bin/sh", Args: []string{"-c", "sleep 60 >/dev/null 2>&1 & echo $!"}, Held: held})
		Expect(err).NotTo(HaveOccurred())
		Expect(held.Close()).To(Succeed())
		_, err = system.Lock(path)
		Expect(err).To(MatchError(system.ErrLocked))
		Expect(run("kill " + child.Stdout)).To(HaveField("ExitCode", 0))
		Eventually(func() error {
			held, err := system.Lock(path)
			return errors.Join(err, held.Close())
		}).Should(Succeed())
	})

	It("tell a kill from an exit", func() {
		Expect(run("kill -9 $$")).To(HaveField("ExitCode", -1))
	})

	It("keep the end of what they say", func() {
		result, err := run("i=0; while [ $i -lt 5000 ]; do echo 'a line of text'; i=$((i+1)); done; echo last")
		Expect(err).NotTo(HaveOccurred())
		Expect(len(result.Stdout)).To(BeNumerically("<=", 32<<10))
		Expect(system.LastLine(result.Stdout)).To(Equal("last"))
	})

	It("are an error when they cannot be started", func() {
		_, err := system.Processes{}.Run(context.Background(), system.Command{Name: "/no/such/thing"})
		Expect(err).To(MatchError(ContainSubstring(`running "/no/such/thing"`)))
	})

	It("have namespaces of their own that end with them, where that is asked for", func() {
		bin := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(bin, "unshare"), []byte("#!/bin/sh\necho \"$@\"\n"), 0o755)).To(Succeed())
		GinkgoT().Setenv("PATH", bin)
		Expect(system.Processes{}.Run(context.Background(), system.Command{Name: "elemental", Args: []string{"upgrade"}, Private: true})).To(
			HaveField("Stdout", "--mount --propagation private --pid --fork --mount-proc --kill-child -- elemental upgrade\n"))
	})

	It("were ended by a signal, whatever stands between", func() {
		bin := GinkgoT().TempDir()
		script := "#!/bin/sh\necho 'some error' >&2\necho 'unshare: sigprocmask unblock failed: Invalid argument' >&2\nexit 1\n"
		Expect(os.WriteFile(filepath.Join(bin, "unshare"), []byte(script), 0o755)).To(Succeed())
		GinkgoT().Setenv("PATH", bin)
		for private, code := range map[bool]int{true: -1, false: 1} {
			Expect(system.Processes{}.Run(context.Background(), system.Command{Name: filepath.Join(bin, "unshare"), Private: private})).To(
				HaveField("ExitCode", code))
		}
	})

	It("end with the context", func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := system.Processes{}.Run(ctx, system.Command{Name: "/bin/sh", Args: []string{"-c", "while :; do :; done"}})
		Expect(err).To(MatchError(context.DeadlineExceeded))
	})

	// child starts a process beside the shell that outlives it, and writes its number.
	child := func(command string) (script, file string) {
		file = filepath.Join(GinkgoT().TempDir(), "child")
		return command + " & echo $! > " + file + ".new; mv " + file + ".new " + file, file
	}
	pidIn := func(file string) string { return strings.TrimSpace(string(must(os.ReadFile(file)))) }
	// running says so of none that has ended and that nobody has waited for.
	running := func(file string) bool {
		stat, err := os.ReadFile("/proc/" + pidIn(file) + "/stat")
		return err == nil && !strings.Contains(string(stat), ") Z ")
	}

	It("end with the context together with their children, which hold their output", func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		script, file := child("sleep 300")
		done := make(chan error)
		go func() {
			_, err := system.Processes{}.Run(ctx, system.Command{Name: "/bin/sh", Args: []string{"-c", script + "; wait"}})
			done <- err
		}()
		Eventually(file).Should(BeAnExistingFile())
		Expect(running(file)).To(BeTrue())
		cancel()
		Eventually(done).Should(Receive(MatchError(context.Canceled)))
		Eventually(func() bool { return running(file) }).Should(BeFalse())
	})

	It("are not waited for when they have ended and a child holds their output", func() {
		script, file := child("sleep 300")
		Expect(run("echo started; " + script)).To(Equal(system.Result{Stdout: "started\n"}))
		Expect(running(file)).To(BeTrue(), "somebody may want it to go on")
		Expect(syscall.Kill(must(strconv.Atoi(pidIn(file))), syscall.SIGKILL)).To(Succeed())
	})
})

func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

var _ = Describe("Files", func() {
	It("are replaced whole, with the mode, and leave nothing beside them", func() {
		path := filepath.Join(GinkgoT().TempDir(), "a", "b")
		Expect(system.WriteFile(path, []byte("one"), 0o600)).To(Succeed())
		Expect(system.WriteFile(path, []byte("two"), 0o640)).To(Succeed())
		Expect(os.ReadFile(path)).To(BeEquivalentTo("two"))
		info, err := os.Stat(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode().Perm()).To(BeEquivalentTo(0o640))
		Expect(os.ReadDir(filepath.Dir(path))).To(HaveLen(1))
	})

	It("that are missing are no error to remove or to read", func() {
		path := filepath.Join(GinkgoT().TempDir(), "x")
		Expect(system.RemoveFile(path)).To(Succeed())
		var value any
		Expect(system.ReadJSON(path, &value)).To(BeFalse())
	})
})

var _ = Describe("A tree", func() {
	var directory string

	BeforeEach(func() {
		directory = GinkgoT().TempDir()
		Expect(os.MkdirAll(filepath.Join(directory, "3", "a", "b"), 0o755)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(directory, "3", "a", "file"), nil, 0o400)).To(Succeed())
		Expect(os.MkdirAll(filepath.Join(directory, "2"), 0o755)).To(Succeed())
		Expect(os.Symlink("../../2", filepath.Join(directory, "3", "a", "link"))).To(Succeed())
	})

	It("is removed with all that is in it, and with no more than the links to what is elsewhere", func() {
		Expect(system.RemoveTree(directory, "3")).To(Succeed())
		left, err := os.ReadDir(directory)
		Expect(err).NotTo(HaveOccurred())
		Expect(left).To(ConsistOf(HaveField("Name()", "2")))
	})

	It("is removed when it is a file, or not there", func() {
		Expect(system.RemoveTree(filepath.Join(directory, "3", "a"), "file")).To(Succeed())
		Expect(filepath.Join(directory, "3", "a", "file")).NotTo(BeAnExistingFile())
		Expect(system.RemoveTree(directory, "9")).To(Succeed())
		Expect(system.RemoveTree(filepath.Join(directory, "9"), "9")).To(Succeed())
	})
})

var _ = Describe("Waiting", func() {
	It("ends with the context", func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		Expect(system.Wait(ctx, systemtest.NewClock(), time.Hour)).To(MatchError(context.Canceled))
	})
})

var _ = Describe("Addresses", func() {
	It("are unicast, sorted, and not the loopback", func() {
		addresses, err := system.InterfaceAddresses()
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Join(addresses, " ")).NotTo(ContainSubstring("127.0.0.1"))
	})
})

var _ = It("A file that cannot be written is an error that is the same at each try", func() {
	path := filepath.Join(GinkgoT().TempDir(), "state")
	Expect(os.MkdirAll(filepath.Join(path, "in the way"), 0o700)).To(Succeed())
	first, second := system.WriteFile(path, []byte("x"), 0o600), system.WriteFile(path, []byte("x"), 0o600)
	Expect(first).To(MatchError(ContainSubstring("writing " + path + ": ")))
	Expect(second).To(MatchError(first.Error()))
})
