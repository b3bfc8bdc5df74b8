// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/rendezvous"
)

// disturber carries out the disturbances of a schedule.
type disturber struct {
	m        *machine
	schedule schedule
	// running are the disturbances that have begun.
	running sync.WaitGroup
	// power and space allow one disturbance of their kind at a time.
	power, space sync.Mutex

	lock    sync.Mutex
	began   bool
	moments int
	said    []string
}

// begin starts to count moments.
func (d *disturber) begin() {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.began = true
}

// end starts no further disturbance, and returns when those that have begun are over.
func (d *disturber) end() {
	d.lock.Lock()
	d.began = false
	d.lock.Unlock()
	d.running.Wait()
}

// meet is called at each moment of the host's commands. The command continues once the disturbances without a delay
// have begun.
func (d *disturber) meet(moment rendezvous.Moment) {
	var begun sync.WaitGroup
	for _, due := range d.due(moment) {
		begun.Add(1)
		once := sync.OnceFunc(begun.Done)
		if due.after > 0 {
			once()
		}
		d.running.Go(func() { defer once(); d.disturb(due, once) })
	}
	begun.Wait()
}

// due are the disturbances of this moment.
func (d *disturber) due(moment rendezvous.Moment) []disturbance {
	d.lock.Lock()
	defer d.lock.Unlock()
	if !d.began {
		return nil
	}
	d.moments++
	var due []disturbance
	for _, each := range d.schedule.disturbs {
		if each.at != d.moments {
			continue
		}
		d.said = append(d.said, fmt.Sprintf("%s: %v half-way %t done %t", each, moment.Argv, moment.HalfWay, moment.Done))
		due = append(due, each)
	}
	return due
}

// disturb disturbs the host; begun is called when the disturbance has begun.
func (d *disturber) disturb(what disturbance, begun func()) {
	defer GinkgoRecover()
	pass(what.after)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch what.kind {
	case agentKilled:
		Expect(d.m.KillAgent(ctx)).To(Succeed())
	case powerCut:
		d.cutPower(ctx, what.lasts, begun)
	case diskFull:
		d.fillDisk(what.lasts, begun)
	case apiAway:
		d.m.api.Slow(true)
		d.m.api.Drop()
		begun()
		pass(what.lasts)
		d.m.api.Slow(false)
		d.m.api.Drop()
	case apiFails:
		d.m.api.Fail(http.StatusInternalServerError, http.StatusBadGateway)
		d.m.api.Drop()
	}
}

func (d *disturber) cutPower(ctx context.Context, off time.Duration, begun func()) {
	d.power.Lock()
	defer d.power.Unlock()
	Expect(d.m.PowerOff(ctx)).To(Succeed())
	begun()
	pass(off)
	Expect(d.m.PowerOn(ctx)).To(Succeed())
}

// fillDisk temporarily leaves too little of the state partition free for an image.
func (d *disturber) fillDisk(lasts time.Duration, begun func()) {
	d.space.Lock()
	defer d.space.Unlock()
	used := disk.DefaultStateBytes - d.m.Disk().Writable()
	Expect(d.m.Disk().SetStateBytes(used + littleSpace)).To(Succeed())
	begun()
	pass(lasts)
	Expect(d.m.Disk().SetStateBytes(disk.DefaultStateBytes)).To(Succeed())
}

// littleSpace is smaller than an image, in bytes.
const littleSpace = 16 << 10

// pass waits: a disturbance lasts as long as the schedule says.
func pass(d time.Duration) { <-time.After(d) }
