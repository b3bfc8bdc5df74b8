#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  github.com/rancher/yip v1.9.6, which applies the cloud-config files of Elemental hosts
# Guess:     Files of a cloud-config arrive as with cloud-init: byte for byte, with mode 0644 unless "permissions" says otherwise,
#            with all bits of those, and with parents that everybody may enter.
# Behaviour: * A file without permissions gets mode 0000.
#            * The bits for setuid, setgid and sticky are dropped without an error.
#            * Missing parents get the mode of the file, made passable for root alone: in a folder of a file with mode 0644
#              nobody else finds anything.
#            * Content is rendered as a Go template after it is decoded, also if it is base64: what parses arrives changed, with
#              "<no value>" or without its blocks, and what does not parse arrives as it is. Neither is an error.
# Seen:      what expect compares below. Needs no root: owners are left alone, and a folder stands for the root.
# Source:    pkg/plugins/files.go (writeFile), pkg/plugins/common.go (templateSysData) and pkg/schema/loader_cloudinit.go
#            (parseOctal) of yip; for cloud-init the module write_files at https://cloudinit.readthedocs.io
# Here:      agent/osplugin/elemental/yip.go escapes and encodes all that the agent writes for yip, makes parents and sets other
#            bits by commands. agent/osplugin/elemental/cloudinitfiles.go has cloud-init's defaults.
#            docs/adr/0019-bootstrap-data-arrive-as-they-are.md
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_modules github.com/rancher/yip@v1.9.6 github.com/sirupsen/logrus@v1.9.4 github.com/twpayne/go-vfs/v4@v4.3.0
go_run <<'GO'
package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rancher/yip/pkg/executor"
	"github.com/rancher/yip/pkg/plugins"
	"github.com/sirupsen/logrus"
	"github.com/twpayne/go-vfs/v4"
)

const template = "{{ .Values.title }} {{ range .Alerts }}alert {{ end }}\n"

var config = `#cloud-config
write_files:
- path: /etc/plain
  content: text
- path: /opt/tool/setuid
  permissions: "4755"
  content: text
- path: /srv/data/file
  permissions: "0644"
  content: text
- path: /srv/template
  permissions: "0600"
  encoding: base64
  content: ` + base64.StdEncoding.EncodeToString([]byte(template)) + `
- path: /srv/unknown-function
  permissions: "0600"
  content: "{{ toYaml .Alerts }}"
`

// host is a folder that stands for the root. Only root may change owners.
type host struct{ vfs.FS }

func (host) Chown(string, int, int) error { return nil }

func main() {
	root, err := filepath.Abs("host")
	check(err)
	check(os.MkdirAll(filepath.Join(root, "etc"), 0o755))
	check(os.WriteFile(filepath.Join(root, "config.yaml"), []byte(config), 0o600))
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	engine := executor.NewExecutor(executor.WithLogger(logger), executor.WithPlugins(plugins.EnsureFiles))
	fmt.Println("error:", engine.Run("boot", host{vfs.NewPathFS(vfs.OSFS, root)}, nil, "/config.yaml"))
	check(os.Remove(filepath.Join(root, "config.yaml")))

	check(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		check(err)
		info, err := entry.Info()
		check(err)
		fmt.Printf("%v /%s\n", info.Mode(), strings.TrimPrefix(path[len(root):], "/"))
		return nil
	}))
	for _, name := range []string{"template", "unknown-function"} {
		content, err := os.ReadFile(filepath.Join(root, "srv", name))
		check(err)
		fmt.Printf("%s: %q\n", name, content)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
expect <<'SEEN'
error: <nil>
drwxr-xr-x /
drwxr-xr-x /etc
---------- /etc/plain
drwxr-xr-x /opt
drwxr-xr-x /opt/tool
-rwxr-xr-x /opt/tool/setuid
drwxr--r-- /srv
drwxr--r-- /srv/data
-rw-r--r-- /srv/data/file
-rw------- /srv/template
-rw------- /srv/unknown-function
template: "<no value> \n"
unknown-function: "{{ toYaml .Alerts }}"
SEEN
