// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
)

// halfWritten is the fraction of an image at which its writing can be interrupted.
const halfWritten = 0.5

// pace slows the writing of an image down as its labels request, reports when half of it is written, and kills it
// there.
type pace struct {
	ctx  context.Context
	disk disk.Disk
	kill func()
	// cutPower powers the host off.
	cutPower func()
	// halfWay is called once, and then set to nil.
	halfWay func()
	total   time.Duration
	spent   time.Duration
	// labels of the image.
	labels map[string]string
	// killAt is the value of source.LabelUpgradeKilled; empty if no kill is requested, or it has happened.
	killAt string
}

func (p *pace) start(digest string, labels map[string]string) {
	p.labels = labels
	if seconds, err := strconv.ParseFloat(labels[source.LabelUpgradeSeconds], 64); err == nil {
		p.total = time.Duration(seconds * float64(time.Second))
	}
	if labels[source.LabelUpgradeKilled] == "" {
		return
	}
	mark := "/lab/killed/" + strings.ReplaceAll(digest, ":", "-")
	if _, err := os.Stat(p.disk.Path(mark)); err == nil {
		return
	}
	if p.disk.WriteFile(mark, nil) == nil {
		p.killAt = labels[source.LabelUpgradeKilled]
	}
}

func (p *pace) progress(done float64) {
	due := time.Duration(min(done, 1) * float64(p.total))
	if due > p.spent {
		p.pause(due - p.spent)
		p.spent = due
	}
	if done >= halfWritten && p.halfWay != nil {
		p.halfWay()
		p.halfWay = nil
	}
	if done >= halfWritten {
		p.reached(source.Once)
	}
}

// reached kills at the moment that was requested.
func (p *pace) reached(moment string) {
	if p.killAt != moment {
		return
	}
	p.killAt = ""
	if moment == source.OnceUnrecorded && p.cutPower != nil {
		p.cutPower()
	}
	p.die()
}

func (p *pace) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ctx.Done():
	case <-timer.C:
	}
}

// die kills the process as the kernel's OOM killer would.
func (p *pace) die() {
	if p.kill != nil {
		p.kill()
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
