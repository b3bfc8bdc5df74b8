// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nspawn

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

const (
	// Uplink is the interface of a host that this machine and the other hosts reach.
	Uplink = "host0"
	// Gateway is the address of this machine in the network of the hosts.
	Gateway = "10.213.210.1"
	// VirtualAddress is one of that network that no host has.
	VirtualAddress = "10.213.210.200"
	// bridge is the network of the hosts.
	bridge = "elhosts"
	// forwarding is the kernel parameter by which a machine is a router.
	forwarding = "/proc/sys/net/ipv4/ip_forward"
)

// Address of a host.
func Address(number int) string { return fmt.Sprintf("10.213.210.%d", 10+number) }

// podNetwork is the network of a host's Pods.
func podNetwork(number int) string { return fmt.Sprintf("10.244.%d.0/24", 10+number) }

// networkFile is the host's configuration of its uplink, for systemd-networkd.
func networkFile(number int) string {
	return fmt.Sprintf("[Match]\nName=%s\n[Network]\nAddress=%s/24\nGateway=%s\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n", Uplink, Address(number), Gateway)
}

// Connect makes the network of the hosts, which this machine routes. Hosts reach the registry and these ports of this machine's loopback
// interface at those of their own.
func (s *Setup) Connect(registry *image.Registry, ports ...int) {
	GinkgoHelper()
	s.registry, s.ports = registry, append(ports, PortOf(registry.Host()))
	_ = exec.Command("ip", "link", "delete", bridge).Run() // of a run that was killed
	osimage.Run("ip", "link", "add", bridge, "type", "bridge")
	DeferCleanup(func() { _ = exec.Command("ip", "link", "delete", bridge).Run() })
	osimage.Run("ip", "address", "add", Gateway+"/24", "dev", bridge)
	osimage.Run("ip", "link", "set", bridge, "up")
	for _, port := range s.ports {
		listener, err := net.Listen("tcp", net.JoinHostPort(Gateway, strconv.Itoa(port)))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(process.LinkFrom(listener, port).Close)
	}
	before := osimage.Read(forwarding)
	DeferCleanup(os.WriteFile, forwarding, []byte(before), os.FileMode(0))
	Expect(os.WriteFile(forwarding, []byte("1"), 0)).To(Succeed())
}

// connect gives the host its uplink, which its OS has to configure at each boot.
func (h *Host) connect() {
	GinkgoHelper()
	link, network := "elnode"+strconv.Itoa(h.number), podNetwork(h.number)
	h.disconnect(link) // of a run that was killed
	osimage.Run("ip", "netns", "add", h.Name)
	DeferCleanup(h.disconnect, link)
	osimage.Run("ip", "link", "add", link, "type", "veth", "peer", "name", Uplink, "netns", h.Name)
	osimage.Run("ip", "link", "set", link, "master", bridge, "up")
	osimage.Run("ip", "route", "replace", network, "via", Address(h.number), "dev", bridge)
	osimage.Run("ip", "-netns", h.Name, "link", "set", "lo", "up")
	within := func(command ...string) { osimage.Run("ip", append([]string{"netns", "exec", h.Name}, command...)...) }
	within("sh", "-c", "echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet")
	within("sh", "-c", "echo 1 >"+forwarding) // of hack/os/files/kubeadm/etc/sysctl.d; a container may not set it
	within("iptables", "-w", "-t", "nat", "-A", "POSTROUTING", "-o", Uplink, "-s", "127.0.0.0/8", "-j", "MASQUERADE")
	for _, port := range h.setup.ports {
		within("iptables", "-w", "-t", "nat", "-A", "OUTPUT", "-d", "127.0.0.1", "-p", "tcp", "--dport", strconv.Itoa(port), "-j", "DNAT", "--to-destination", Gateway)
	}
}

func (h *Host) disconnect(link string) {
	_ = exec.Command("ip", "route", "delete", podNetwork(h.number)).Run()
	_ = exec.Command("ip", "link", "delete", link).Run()
	_ = exec.Command("ip", "netns", "delete", h.Name).Run()
}

// PortOf is the port of HOST:PORT.
func PortOf(address string) int {
	GinkgoHelper()
	_, text, err := net.SplitHostPort(address)
	Expect(err).NotTo(HaveOccurred())
	port, err := strconv.Atoi(text)
	Expect(err).NotTo(HaveOccurred())
	return port
}

// Has reports whether an interface of the host has an address.
func (h *Host) Has(address string) bool {
	GinkgoHelper()
	return strings.Contains(osimage.Run("ip", "-netns", h.Name, "-brief", "address"), " "+address+"/")
}

// Share gives the host the shared address, as long as isOn, and lets it answer there.
func (h *Host) Share(isOn bool) {
	GinkgoHelper()
	if !isOn {
		_ = exec.Command("ip", "-netns", h.Name, "address", "delete", SharedAddress+"/32", "dev", "lo").Run() // where it has it
		return
	}
	osimage.Run("ip", "-netns", h.Name, "address", "replace", SharedAddress+"/32", "dev", "lo")
	Answer(Address(h.number))
}
