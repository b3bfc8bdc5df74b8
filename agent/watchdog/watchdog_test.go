// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package watchdog_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/watchdog"
)

var _ = Describe("The watchdog", Serial, func() {
	var (
		received chan string
		log      = slog.New(slog.DiscardHandler)
	)
	BeforeEach(func() {
		path := filepath.Join(GinkgoT().TempDir(), "notify")
		socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(socket.Close)
		received = make(chan string, 100)
		go func() {
			buffer := make([]byte, 64)
			for {
				count, err := socket.Read(buffer)
				if err != nil {
					return
				}
				received <- string(buffer[:count])
			}
		}()
		GinkgoT().Setenv("NOTIFY_SOCKET", path)
		GinkgoT().Setenv("WATCHDOG_USEC", "2000")
		GinkgoT().Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	})

	run := func(of watchdog.Watchdog) {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			of.Run(ctx, system.WallClock{}, log)
		}()
		DeferCleanup(func() { cancel(); Eventually(ended).Should(BeClosed()) })
	}

	It("is told again and again that the agent lives, and by nobody else", func() {
		of, err := watchdog.FromEnvironment()
		Expect(err).NotTo(HaveOccurred())
		Expect(os.Environ()).NotTo(ContainElement(Or(HavePrefix("NOTIFY_SOCKET="), HavePrefix("WATCHDOG_"))))
		run(of)
		for range 3 {
			Eventually(received).Should(Receive(Equal("WATCHDOG=1")))
		}
	})

	DescribeTable("is none",
		func(variable, value string) {
			GinkgoT().Setenv(variable, value)
			of, err := watchdog.FromEnvironment()
			Expect(err).NotTo(HaveOccurred())
			of.Run(context.Background(), system.WallClock{}, log) // it returns at once
			Consistently(received).WithTimeout(10 * time.Millisecond).ShouldNot(Receive())
		},
		Entry("without systemd", "NOTIFY_SOCKET", ""),
		Entry("without WatchdogSec", "WATCHDOG_USEC", ""),
		Entry("of another process", "WATCHDOG_PID", "1"),
	)

	It("says what it cannot read", func() {
		GinkgoT().Setenv("WATCHDOG_USEC", "soon")
		_, err := watchdog.FromEnvironment()
		Expect(err).To(MatchError(ContainSubstring(`WATCHDOG_USEC="soon"`)))
	})
})
