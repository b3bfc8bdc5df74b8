// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// settings of the suite: the agent's configuration, the authority of the registry, and the ports of the suite's machine.
	settings = "/var/lib/boot-test"
	// misbehaves is a file of an image with the way in which it is bad.
	misbehaves = "/etc/misbehave"
	// watchdogSeconds after which the kernel resets a machine whose init does nothing. An init that works says so six times in that time. On a machine
	// where the virtual one hardly runs, less time resets a good image.
	watchdogSeconds = 60
)

// system is the init of the OS. It starts what systemd would start, and ends with a reboot.
func system() error {
	orders := make(chan os.Signal, 1)
	signal.Notify(orders, syscall.SIGTERM, syscall.SIGUSR1)
	release, _ := os.ReadFile("/etc/os-release")
	tell("booted %q", string(release))
	watchdog, err := openWatchdog()
	if err != nil {
		return err
	}
	switch way := misbehaviour(); way {
	case "panic":
		return errors.New("init ends as the image asks for")
	case "hang":
		tell("hangs")
		select {}
	case "flap":
		go flap()
	}
	go beat(watchdog)
	if err := connect(); err != nil {
		return err
	}
	go assess()
	go runAgent()
	return goDown(<-orders)
}

// beat tells the watchdog that init works.
func beat(watchdog *os.File) {
	for ; ; time.Sleep(watchdogSeconds / 6 * time.Second) {
		_, _ = watchdog.Write([]byte("1"))
	}
}

func misbehaviour() string {
	content, _ := os.ReadFile(misbehaves)
	return strings.TrimSpace(string(content))
}

func openWatchdog() (*os.File, error) {
	device, err := os.OpenFile("/dev/watchdog", os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return device, unix.IoctlSetPointerInt(int(device.Fd()), unix.WDIOC_SETTIMEOUT, watchdogSeconds)
}

// connect gives the machine its network. The ports of the suite's machine, which listens on its loopback interface, are on that of this one.
func connect() error {
	for _, args := range []string{"link set lo up", "address add 10.0.2.15/24 dev eth0", "link set eth0 up"} {
		if output, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return errors.New("ip " + args + ": " + string(output))
		}
	}
	ports, err := os.ReadFile(settings + "/ports")
	if err != nil {
		return err
	}
	for _, port := range strings.Fields(string(ports)) {
		listener, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			return err
		}
		go forward(listener, "10.0.2.2:"+port)
	}
	return nil
}

// network is a unit that connects the machine.
func network() error {
	if err := connect(); err != nil {
		return err
	}
	if socket := os.Getenv("NOTIFY_SOCKET"); socket != "" {
		systemd, err := net.Dial("unixgram", socket)
		if err != nil {
			return err
		}
		if _, err := systemd.Write([]byte("READY=1")); err != nil {
			return err
		}
	}
	select {}
}

func forward(listener net.Listener, to string) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = from.Close() }()
			target, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			defer func() { _ = target.Close() }()
			go func() {
				_, _ = io.Copy(target, from)
				_ = target.(*net.TCPConn).CloseWrite()
			}()
			_, _ = io.Copy(from, target)
		}()
	}
}

// runAgent runs the agent as its unit does: it is started again whenever it ends.
func runAgent() {
	for {
		agent := exec.Command("/usr/sbin/elemental-agent", "--config", settings+"/agent.yaml", "run")
		agent.Env = append(os.Environ(), "SSL_CERT_FILE="+settings+"/ca.pem")
		agent.Stdout, agent.Stderr = os.Stdout, os.Stderr
		agent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := agent.Start(); err == nil {
			set("elemental-agent.service", "active")
			err = agent.Wait()
			tell("the agent has ended: %v", err)
		}
		time.Sleep(time.Second)
	}
}

// Boot assessment as in the unit of the toolkit, with a shorter pause between its tries.
const (
	assessmentTries = 5
	assessmentPause = time.Second
)

func assess() {
	const unit = "elemental-boot-assessment.service"
	line, _ := os.ReadFile("/proc/cmdline")
	if !slices.Contains(strings.Fields(string(line)), "elemental.health_check") {
		return
	}
	for range assessmentTries {
		set(unit, "activating")
		output, err := exec.Command("/usr/sbin/elemental-boot-assessment").CombinedOutput()
		if err == nil {
			set(unit, "active")
			tell("the toolkit's assessment has passed")
			return
		}
		tell("the toolkit's assessment failed: %v %q", err, output)
		time.Sleep(assessmentPause)
	}
	set(unit, "failed")
	_ = systemctl([]string{"reboot"})
}

// flap is a unit that fails and is started again, again and again.
func flap() {
	for {
		for _, state := range []string{"active", "failed"} {
			set("flapping.service", state)
			time.Sleep(2 * time.Second)
		}
	}
}

// goDown ends processes, writes what is to be written, as systemd does, and goes down.
func goDown(order os.Signal) error {
	tell("goes down")
	signal.Ignore(syscall.SIGTERM)
	_ = unix.Kill(-1, unix.SIGTERM)
	awaitAlone(5 * time.Second)
	_ = unix.Kill(-1, unix.SIGKILL)
	unix.Sync()
	for _, at := range []string{"/oem", "/var", stateDir, keptDir} {
		_ = unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	unix.Sync()
	command := unix.LINUX_REBOOT_CMD_RESTART
	if order == syscall.SIGUSR1 {
		command = unix.LINUX_REBOOT_CMD_POWER_OFF
	}
	return unix.Reboot(command)
}

// awaitAlone waits until init is the only process besides the kernel's threads.
func awaitAlone(limit time.Duration) {
	for until := time.Now().Add(limit); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		lines, _ := filepath.Glob("/proc/[0-9]*/exe")
		others := slices.DeleteFunc(lines, func(path string) bool {
			_, err := os.Readlink(path) // a kernel thread and a zombie have none
			return err != nil || path == "/proc/1/exe"
		})
		if len(others) == 0 {
			return
		}
	}
}
