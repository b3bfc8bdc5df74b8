// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudinit

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rancher/yip/pkg/logger"
	"github.com/rancher/yip/pkg/plugins"
	"github.com/rancher/yip/pkg/schema"
	"github.com/rancher/yip/pkg/utils"
	"github.com/twpayne/go-vfs/v4"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
)

// rootFS is the root directory of a host. All files have one owner, because the lab does not run as root.
type rootFS struct {
	vfs.FS
}

func newRootFS(d disk.Disk) rootFS { return rootFS{vfs.NewPathFS(vfs.OSFS, string(d))} }

// Chown does nothing.
func (rootFS) Chown(string, int, int) error { return nil }

// notPlayed reports what the engine's plugins would do to this machine, or over its network, and a host of the lab does not.
func notPlayed(l logger.Interface, stage schema.Stage, _ vfs.FS, _ plugins.Console) error {
	for what, asked := range map[string]bool{
		"dns": len(stage.Dns.Nameservers) > 0, "downloads": len(stage.Downloads) > 0, "layout": stage.Layout.Device != nil,
		"entities": len(stage.EnsureEntities)+len(stage.DeleteEntities) > 0, "datasource": len(stage.DataSources.Providers) > 0,
		"environment": len(stage.Environment) > 0, "timesyncd": len(stage.TimeSyncd) > 0, "systemd_firstboot": len(stage.SystemdFirstBoot) > 0,
	} {
		if asked {
			l.Warnf("%s: a host of the lab does not have %s", stage.Name, what)
		}
	}
	return nil
}

// hostname is the engine's, without the name of this machine: it renders the name and writes it to the host's files.
func hostname(_ logger.Interface, stage schema.Stage, fs vfs.FS, _ plugins.Console) error {
	if stage.Hostname == "" {
		return nil
	}
	name, err := utils.TemplatedString(stage.Hostname, struct{ UUID, Random, MachineID string }{})
	if err != nil {
		return err
	}
	if err := vfs.MkdirAll(fs, "/etc", 0o755); err != nil {
		return err
	}
	if _, err := fs.Stat("/etc/hosts"); err == nil {
		if err := plugins.UpdateHostsFile(name, fs); err != nil {
			return err
		}
	}
	return plugins.SystemHostname(name, fs)
}

// users plays the engine's users, which locks files of this machine: it adds them to the host's passwd, group and shadow, and their keys to
// their home.
func users(_ logger.Interface, stage schema.Stage, fs vfs.FS, _ plugins.Console) error {
	var errs error
	for _, name := range slices.Sorted(maps.Keys(stage.Users)) {
		errs = errors.Join(errs, addUser(fs, name, stage.Users[name]))
	}
	for name, keys := range stage.SSHKeys {
		home := "/home/" + name
		if name == "root" {
			home = "/root"
		}
		errs = errors.Join(errs, authorize(fs, home, keys))
	}
	return errs
}

func addUser(fs vfs.FS, name string, user schema.User) error {
	if user.Homedir == "" {
		user.Homedir = "/home/" + name
	}
	password := user.PasswordHash
	if user.LockPasswd {
		password = "!"
	}
	return errors.Join(
		appendLine(fs, "/etc/passwd", fmt.Sprintf("%s:x:%s::%s:%s:%s", name, user.UID, user.GECOS, user.Homedir, user.Shell)),
		appendLine(fs, "/etc/shadow", name+":"+password+":::::::"),
		appendLine(fs, "/etc/group", strings.Join(user.Groups, ",")+":"+name),
		authorize(fs, user.Homedir, user.SSHAuthorizedKeys),
	)
}

func authorize(fs vfs.FS, home string, keys []string) error {
	var errs error
	for _, key := range keys {
		errs = errors.Join(errs, appendLine(fs, path.Join(home, ".ssh/authorized_keys"), key))
	}
	return errs
}

func appendLine(fs vfs.FS, file, line string) error {
	if err := vfs.MkdirAll(fs, path.Dir(file), 0o755); err != nil {
		return err
	}
	content, err := fs.ReadFile(file)
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	return fs.WriteFile(file, append(content, line+"\n"...), 0o600)
}
