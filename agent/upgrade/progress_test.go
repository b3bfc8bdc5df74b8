// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	mebibyte = 1 << 20
	interval = 10 * time.Second
)

// slow is a world in which one stage takes as long as the test wants, and progress is looked at.
type slow struct {
	*world
	stage       string
	begun, done chan struct{}
	goOn        func()
	// bytes that have arrived, or are written.
	bytes atomic.Int64
	// read takes the bytes of a snapshot that have been read.
	read func(done, total int64)
	lock sync.Mutex
	said []*wire.Progress
}

func (s *slow) Download(ctx context.Context, wanted image.Image) error {
	return s.pass(wire.StageDownload, func() error { return s.world.Download(ctx, wanted) })
}

func (s *slow) Downloaded(string) int64 { return s.bytes.Load() }

func (s *slow) Upgrade(ctx context.Context, request osplugin.Upgrade) (output osplugin.Output, err error) {
	err = s.pass(wire.StageWrite, func() error {
		output, err = s.world.Upgrade(ctx, request)
		return err
	})
	return output, err
}

func (s *slow) VerifySnapshot(ctx context.Context, verification osplugin.Verification) error {
	s.read = verification.Read
	return s.pass(wire.StageVerify, func() error { return s.world.VerifySnapshot(ctx, verification) })
}

func (s *slow) Space(context.Context) (osplugin.Space, error) {
	return osplugin.Space{State: s.free - s.bytes.Load(), Work: s.free}, nil
}

func (s *slow) pass(stage string, act func() error) error {
	if stage != s.stage {
		return act()
	}
	close(s.begun)
	<-s.done
	return act()
}

func (s *slow) Attempt(attempt *wire.Attempt) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.said = append(s.said, attempt.Progress)
}

func (s *slow) last() *wire.Progress {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.said[len(s.said)-1]
}

// reports how many there have been.
func (s *slow) reports() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.said)
}

var _ = Describe("Progress", func() {
	var (
		s       *slow
		dir     string
		machine *upgrade.Machine
		ended   chan error
	)

	BeforeEach(func() {
		s, dir = &slow{world: newWorld()}, memoryDir()
		s.policy.ProgressInterval = interval
	})

	// begin makes the attempt until it takes long.
	begin := func(want *wire.Upgrade, stage string) {
		GinkgoHelper()
		s.stage = stage
		s.clock.Manual = true
		s.begun, s.done, ended = make(chan struct{}), make(chan struct{}), make(chan error, 1)
		machine = s.agent(dir)
		machine.Images, machine.Plugin, machine.Reporter = s, s, s
		ctx, cancel := context.WithCancel(context.Background())
		s.goOn = sync.OnceFunc(func() { close(s.done) })
		stopped := make(chan struct{})
		DeferCleanup(func() {
			cancel()
			s.goOn()
			Eventually(stopped).Should(BeClosed(), "it writes to the directory that is removed next")
		})
		go func() {
			defer close(stopped)
			ended <- machine.Advance(ctx, want, nil)
		}()
		Eventually(s.begun).Should(BeClosed())
		s.clock.Advance(interval) // what was begun and ended before has left its waits
	}
	// passes lets time pass in which so many bytes have been reached, and says how many reports that has brought.
	passes := func(bytes int64, times int) int {
		GinkgoHelper()
		before := s.reports()
		s.bytes.Store(bytes)
		if s.read != nil {
			s.read(bytes, 400*mebibyte)
		}
		for range times {
			Eventually(s.clock.Waiting).Should(Equal(1))
			s.clock.Advance(interval)
		}
		Eventually(s.clock.Waiting).Should(Equal(1))
		return s.reports() - before
	}

	It("of a download is reported at each tenth, or after a minute, and dropped at its end", func() {
		want := wanted("a1")
		want.Apply = false
		begin(want, wire.StageDownload)
		Expect(passes(9*mebibyte, 1)).To(BeZero())
		Expect(passes(10*mebibyte, 1)).To(Equal(1))
		Expect(s.last()).To(Equal(&wire.Progress{Stage: wire.StageDownload, Bytes: 10 * mebibyte, TotalBytes: 100 * mebibyte}))
		Expect(passes(12*mebibyte, 5)).To(BeZero(), "each report is a write to the management cluster")
		Expect(passes(12*mebibyte, 1)).To(Equal(1))
		Expect(s.last()).To(HaveField("Bytes", BeEquivalentTo(12*mebibyte)))
		Expect(passes(12*mebibyte, 12)).To(BeZero(), "nothing has moved")
		Expect(passes(5*mebibyte, 6)).To(BeZero(), "a blob that is fetched again is nothing new")
		Expect(passes(200*mebibyte, 1)).To(Equal(1))
		Expect(s.last()).To(HaveField("Bytes", BeEquivalentTo(100*mebibyte)))
		Expect(os.ReadFile(filepath.Join(dir, upgrade.MarkerFile))).NotTo(ContainSubstring("rogress"))
		s.goOn()
		Eventually(ended).Should(Receive(Succeed()))
		Expect(machine.Marker().Phase).To(Equal(wire.PhaseFetched))
		Expect(s.last()).To(BeNil())
	})

	It("of the comparison is what has been read of the snapshot", func() {
		begin(wanted("a1"), wire.StageVerify)
		Expect(passes(39*mebibyte, 1)).To(BeZero())
		Expect(passes(40*mebibyte, 1)).To(Equal(1))
		Expect(s.last()).To(Equal(&wire.Progress{Stage: wire.StageVerify, Bytes: 40 * mebibyte, TotalBytes: 400 * mebibyte}))
		s.goOn()
	})

	It("of the writing has no total, and never goes back", func() {
		begin(wanted("a1"), wire.StageWrite)
		Expect(passes(255*mebibyte, 1)).To(BeZero())
		Expect(passes(300*mebibyte, 1)).To(Equal(1))
		Expect(s.last()).To(Equal(&wire.Progress{Stage: wire.StageWrite, Bytes: 300 * mebibyte}))
		Expect(passes(100*mebibyte, 6)).To(BeZero(), "the CLI removes what it has written, too")
		s.goOn()
	})
})
