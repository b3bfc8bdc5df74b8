// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"fmt"
	"net"
	"os/exec"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

// uplink is the interface of a host that this machine reaches.
const uplink = "host0"

// address of a host in its network with this machine.
func address(number int) string { return fmt.Sprintf("10.213.%d.2", number) }

// gateway is the address of this machine in the network of a host.
func gateway(number int) string { return fmt.Sprintf("10.213.%d.1", number) }

// networkFile is the host's configuration of its uplink, for systemd-networkd.
func networkFile(number int) string {
	return fmt.Sprintf("[Match]\nName=%s\n[Network]\nAddress=%s/24\nGateway=%s\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n", uplink, address(number), gateway(number))
}

// connect gives a host an interface that it shares with this machine, which its OS has to configure at each boot. The lab is on the
// loopback interface of this machine; what a host sends to these ports of its own loopback interface goes to this machine through the
// uplink.
func connect(name string, number int, ports ...int) {
	GinkgoHelper()
	link := "elnode" + strconv.Itoa(number)
	disconnect(name, link) // of a run that was killed
	run("ip", "netns", "add", name)
	DeferCleanup(disconnect, name, link)
	run("ip", "link", "add", link, "type", "veth", "peer", "name", uplink, "netns", name)
	run("ip", "address", "add", gateway(number)+"/24", "dev", link)
	run("ip", "link", "set", link, "up")
	run("ip", "-netns", name, "link", "set", "lo", "up")
	within := func(command ...string) { run("ip", append([]string{"netns", "exec", name}, command...)...) }
	within("sh", "-c", "echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet")
	within("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward") // of hack/os/files/kubeadm/etc/sysctl.d; a container may not set it
	within("iptables", "-w", "-t", "nat", "-A", "POSTROUTING", "-o", uplink, "-s", "127.0.0.0/8", "-j", "MASQUERADE")
	for _, port := range ports {
		within("iptables", "-w", "-t", "nat", "-A", "OUTPUT", "-d", "127.0.0.1", "-p", "tcp", "--dport", strconv.Itoa(port), "-j", "DNAT", "--to-destination", gateway(number))
		listener, err := net.Listen("tcp", net.JoinHostPort(gateway(number), strconv.Itoa(port)))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(process.LinkFrom(listener, port).Close)
	}
}

func disconnect(name, link string) {
	_ = exec.Command("ip", "link", "delete", link).Run()
	_ = exec.Command("ip", "netns", "delete", name).Run()
}
