// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// Moments of the CLI at which it runs no command and no stage, but opens a file.
const (
	// unpacking: it has unpacked some of the image.
	unpacking = "unpacking"
	// recorded: it has written state.yaml to the state partition, and not yet the copy of it on the recovery partition.
	recorded = "recorded"
)

// openings are the files: by the index of their partition, and how their paths end.
var openings = map[string]struct {
	partition int
	suffix    string
}{
	unpacking: {3, "/etc/os-release"},
	recorded:  {2, "/state.yaml"},
}

// opening holds the CLI when it opens a file, by the kernel's fanotify. Whoever else opens something goes on.
type opening struct {
	suffix string
	// mounted is a mount of the file's partition: it is the file system that is watched, wherever the CLI mounts it.
	mounted string
	group   *os.File
	// held is closed when the CLI is.
	held chan struct{}
	once sync.Once
}

// holdOpening holds the CLI at a moment until the opening is let go.
func (m *machine) holdOpening(moment string) *opening {
	GinkgoHelper()
	at := openings[moment]
	o := &opening{suffix: at.suffix, mounted: filepath.Join(m.dir, moment), held: make(chan struct{})}
	Expect(os.MkdirAll(o.mounted, 0o755)).To(Succeed())
	run("mount", m.loops[at.partition], o.mounted)
	group, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY|unix.O_CLOEXEC)
	Expect(err).NotTo(HaveOccurred())
	o.group = os.NewFile(uintptr(group), "fanotify")
	Expect(unix.FanotifyMark(group, unix.FAN_MARK_ADD|unix.FAN_MARK_FILESYSTEM, unix.FAN_OPEN_PERM, unix.AT_FDCWD, o.mounted)).To(Succeed())
	go o.watch()
	return o
}

// watch lets all go on but the CLI, until the group is closed.
func (o *opening) watch() {
	defer GinkgoRecover()
	buffer := make([]byte, 4096)
	for {
		n, err := o.group.Read(buffer)
		if err != nil {
			return
		}
		for events := bytes.NewReader(buffer[:n]); events.Len() > 0; {
			event := unix.FanotifyEventMetadata{}
			Expect(binary.Read(events, binary.NativeEndian, &event)).To(Succeed())
			file := os.NewFile(uintptr(event.Fd), "event")
			if o.isIt(event) {
				o.once.Do(func() { close(o.held) })
				DeferCleanup(file.Close)
				continue
			}
			answer := unix.FanotifyResponse{Fd: event.Fd, Response: unix.FAN_ALLOW}
			_ = binary.Write(o.group, binary.NativeEndian, answer) // who asked may have been killed
			_ = file.Close()
		}
	}
}

func (o *opening) isIt(event unix.FanotifyEventMetadata) bool {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", event.Pid))
	path, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(event.Fd)))
	return strings.TrimSpace(string(name)) == "elemental" && strings.HasSuffix(path, o.suffix)
}

// letGo has the CLI go on.
func (o *opening) letGo() {
	GinkgoHelper()
	Expect(o.group.Close()).To(Succeed())
	run("umount", "--lazy", o.mounted)
}
