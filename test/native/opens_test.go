// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

// Moments of the CLI at which it opens a file, rather than running a command or stage.
const (
	// unpacking: it has unpacked some of the image.
	unpacking = "unpacking"
	// recorded: it has written state.yaml to the state partition, but not yet its copy on the recovery partition.
	recorded = "recorded"
	// describing: snapperd has created the snapshot that the CLI requested, but not yet described it.
	describing = "describing"
)

// openings are the files: which process opens them, the index of their partition (zero is the state partition, which is
// already mounted), the suffix of their paths, and what is on the partitions at that moment.
var openings = map[string]struct {
	process   string
	partition int
	path      *regexp.Regexp
	expect    func(m *machine)
}{
	unpacking:  {"elemental", 0, regexp.MustCompile(`/etc/os-release$`), expectUnpacking},
	recorded:   {"elemental", 2, regexp.MustCompile(`/state\.yaml$`), expectRecorded},
	describing: {"snapperd", 0, regexp.MustCompile(`/2/info\.xml[^/]*$`), expectDescribing},
}

func expectUnpacking(m *machine) {
	GinkgoHelper()
	snapshot := m.path(stateDir + "/.snapshots/2")
	Expect(snapshot).To(BeADirectory())
	Expect(filepath.Join(snapshot, "snapshot.img")).NotTo(BeAnExistingFile())
}

func expectRecorded(m *machine) {
	GinkgoHelper()
	written, err := state.Read(m.path(stateDir + "/state.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(written.State.Snapshots).To(HaveKey(2))
	former, err := state.Read(filepath.Join(m.opening.mounted, "state.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(former.State.Snapshots).NotTo(HaveKey(2))
}

func expectDescribing(m *machine) {
	GinkgoHelper()
	snapshot := m.path(stateDir + "/.snapshots/2")
	Expect(filepath.Join(snapshot, "snapshot")).To(BeADirectory())
	Expect(filepath.Join(snapshot, "info.xml")).NotTo(BeAnExistingFile())
}

// opening blocks the CLI, or snapperd, when it opens a file, by the kernel's fanotify. Opens of other processes
// continue.
type opening struct {
	moment  string
	process string
	path    *regexp.Regexp
	// mounted is a mount of the file's partition that did not exist before: fanotify watches the file system, wherever
	// the CLI mounts it.
	mounted string
	group   *os.File
	// held is closed when the process is blocked, ended when nothing is watched any more.
	held, ended chan struct{}
	reached     sync.Once
	// letGo lets the process continue.
	letGo func()
}

// holdOpening blocks the process at a moment until the opening is released.
func (m *machine) holdOpening(moment string) *opening {
	GinkgoHelper()
	at := openings[moment]
	o := &opening{moment: moment, process: at.process, path: at.path, held: make(chan struct{}), ended: make(chan struct{})}
	watched := m.path(stateDir) // another mount of btrfs would make the CLI find the device under another name
	if at.partition != 0 {
		o.mounted = filepath.Join(m.dir, moment)
		watched = o.mounted
		Expect(os.MkdirAll(o.mounted, 0o755)).To(Succeed())
		osimage.Run("mount", m.loops[at.partition], o.mounted)
	}
	group, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY|unix.O_CLOEXEC)
	Expect(err).NotTo(HaveOccurred())
	o.group = os.NewFile(uintptr(group), "fanotify")
	Expect(unix.FanotifyMark(group, unix.FAN_MARK_ADD|unix.FAN_MARK_FILESYSTEM, unix.FAN_OPEN_PERM, unix.AT_FDCWD, watched)).To(Succeed())
	o.letGo = sync.OnceFunc(func() {
		Expect(o.group.Close()).To(Succeed()) // the kernel then allows all pending opens
		Eventually(o.ended).Should(BeClosed())
		if o.mounted != "" {
			osimage.Run("umount", "--lazy", o.mounted)
		}
	})
	DeferCleanup(o.letGo)
	go o.watch()
	return o
}

// watch allows the opens of all other processes, until the group is closed.
func (o *opening) watch() {
	defer GinkgoRecover()
	defer close(o.ended)
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
				o.reached.Do(func() { close(o.held) })
				defer func() { _ = file.Close() }()
				continue
			}
			answer := unix.FanotifyResponse{Fd: event.Fd, Response: unix.FAN_ALLOW}
			_ = binary.Write(o.group, binary.NativeEndian, answer) // the process may have been killed
			_ = file.Close()
		}
	}
}

func (o *opening) isIt(event unix.FanotifyEventMetadata) bool {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", event.Pid))
	path, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(event.Fd)))
	return strings.TrimSpace(string(name)) == o.process && o.path.MatchString(path)
}
