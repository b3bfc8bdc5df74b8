// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/phase"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/redact"
)

const (
	// checkPatience bounds the requests to an API that does not answer.
	checkPatience = time.Minute
	// commandPatience bounds each command: on a broken host, one may block on a disk for ever.
	commandPatience = 20 * time.Second
)

// files and commands are everything that a bundle contains. The private key and bootstrap data, which lie beside these files, must not be in
// it.
var (
	workFiles = []string{
		upgrade.MarkerFile, upgrade.KnownFile, upgrade.InstalledFile, identity.RegisteredFile, phase.BootstrapMarkFile, phase.ResetMarkFile,
	}
	hostFiles = []string{
		"/etc/os-release", system.MountsFile, "/proc/cmdline", "/proc/uptime", "/proc/sys/kernel/random/boot_id",
		"/run/initramfs/elemental-state/state.yaml", "/oem/grubenv",
	}
	commands = []system.Command{
		{Name: "journalctl", Args: []string{"--no-pager", "--lines=5000", "--unit=elemental-agent*", "--unit=elemental-setup-*", "--unit=elemental-boot-assessment"}},
		{Name: "systemctl", Args: []string{"list-units", "--state=failed", "--no-pager"}},
		{Name: "systemctl", Args: []string{"list-jobs", "--no-pager"}},
		{Name: "df", Args: []string{"-h"}},
		{Name: "losetup", Args: []string{"--list"}},
		{Name: "lsblk", Args: []string{"--fs"}},
		{Name: "ip", Args: []string{"address"}},
	}
)

// WriteBundle writes a tar.gz to path, which must not exist, readable by root only. For what cannot be collected it contains the reason.
func WriteBundle(ctx context.Context, path string, subject Subject) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("writing the bundle: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	zipped := gzip.NewWriter(file)
	bundle := &bundle{archive: tar.NewWriter(zipped), at: subject.Host.Clock.Now()}
	bundle.fill(ctx, subject)
	return errors.Join(bundle.err, bundle.archive.Close(), zipped.Close())
}

type bundle struct {
	archive *tar.Writer
	at      time.Time
	// known secrets of this host.
	known []string
	err   error
}

func (b *bundle) fill(ctx context.Context, subject Subject) {
	settings, err := config.Load(subject.ConfigPath)
	workDir := config.DefaultWorkDir
	if err == nil {
		b.known, workDir = append(b.known, settings.Registration.Token), settings.Agent.WorkDir
	}
	b.print("check.txt", func(out io.Writer) error {
		limited, cancel := context.WithTimeout(ctx, checkPatience)
		defer cancel()
		return Check(limited, out, subject)
	})
	b.print("status.txt", func(out io.Writer) error { return Status(out, subject) })
	b.file("config.yaml", subject.ConfigPath)
	for _, name := range workFiles {
		b.file("work/"+name, filepath.Join(subject.Host.Path(workDir), name))
	}
	for _, path := range hostFiles {
		b.file("host"+path, subject.Host.Path(path))
	}
	for i, command := range commands {
		command.Timeout = commandPatience
		b.print(fmt.Sprintf("commands/%d-%s.txt", i, command.Name), func(out io.Writer) error { return say(ctx, out, subject.Host.Runner, command) })
	}
}

func say(ctx context.Context, out io.Writer, runner system.Runner, command system.Command) error {
	result, err := runner.Run(ctx, command)
	_, written := fmt.Fprintf(out, "$ %s\n%s%s", command, result.Stdout, result.Stderr)
	return errors.Join(err, written)
}

func (b *bundle) file(name, path string) {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	b.print(name, func(out io.Writer) error {
		_, written := out.Write(content)
		return errors.Join(err, written)
	})
}

// print adds the output of write, with the error that ended it.
func (b *bundle) print(name string, write func(io.Writer) error) {
	said := &bytes.Buffer{}
	if err := write(said); err != nil {
		fmt.Fprintf(said, "\n%s\n", err)
	}
	content := b.clean(said.Bytes())
	header := &tar.Header{Name: "elemental-support/" + name, Mode: 0o600, Size: int64(len(content)), ModTime: b.at}
	if err := b.archive.WriteHeader(header); err != nil {
		b.err = errors.Join(b.err, fmt.Errorf("writing the bundle: %w", err))
		return
	}
	if _, err := b.archive.Write(content); err != nil {
		b.err = errors.Join(b.err, fmt.Errorf("writing the bundle: %w", err))
	}
}

func (b *bundle) clean(content []byte) []byte {
	for _, known := range b.known {
		if known != "" {
			content = bytes.ReplaceAll(content, []byte(known), []byte(redact.Removed))
		}
	}
	return redact.Bytes(content)
}
