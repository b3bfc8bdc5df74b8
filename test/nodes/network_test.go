// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

// uplink is the interface of a host that this machine reaches.
const uplink = "host0"

// address of a host in its network with this machine.
func address(number int) string { return fmt.Sprintf("10.213.%d.2", number) }

// connect gives a host its network, which outlives its boots: an interface that it shares with this machine, and on its own loopback
// interface the ports of the lab.
func connect(name string, number int, ports ...int) {
	GinkgoHelper()
	link := "elnode" + strconv.Itoa(number)
	disconnect(name, link) // of a run that was killed
	run("ip", "netns", "add", name)
	DeferCleanup(disconnect, name, link)
	run("ip", "link", "add", link, "type", "veth", "peer", "name", uplink, "netns", name)
	run("ip", "address", "add", fmt.Sprintf("10.213.%d.1/24", number), "dev", link)
	run("ip", "link", "set", link, "up")
	for _, command := range [][]string{
		{"link", "set", "lo", "up"},
		{"address", "add", address(number) + "/24", "dev", uplink},
		{"link", "set", uplink, "up"},
		{"route", "add", "default", "via", fmt.Sprintf("10.213.%d.1", number)},
	} {
		run("ip", append([]string{"-netns", name}, command...)...)
	}
	for _, port := range ports {
		listener, err := listenIn(name, port)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(process.LinkFrom(listener, port).Close)
	}
}

func disconnect(name, link string) {
	_ = exec.Command("ip", "link", "delete", link).Run()
	_ = exec.Command("ip", "netns", "delete", name).Run()
}

// listenIn listens on a loopback port of a network namespace. A socket stays in the namespace of the thread that has created it.
func listenIn(namespace string, port int) (listener net.Listener, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
		var file *os.File
		if file, err = os.Open("/run/netns/" + namespace); err != nil {
			return
		}
		defer func() { _ = file.Close() }()
		if err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			return
		}
		listener, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}()
	<-done
	return listener, err
}
