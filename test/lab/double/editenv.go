// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package double

import (
	"context"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
)

// editenv simulates grub2-editenv FILE COMMAND; a missing file is created.
func editenv(_ context.Context, c *Call) int {
	if len(c.Argv) < 3 {
		return c.fail(1, "Usage: %s FILE create|list|set|unset [NAME=VALUE|NAME ...]", c.Argv[0])
	}
	path, verb, args := c.Argv[1], c.Argv[2], c.Argv[3:]
	env, err := grub.Read(c.real(path))
	if err != nil {
		return c.fail(1, "%s: error: invalid environment block.", c.Argv[0])
	}
	if problem := edit(c, env, verb, args); problem != "" {
		return c.fail(1, "%s: error: %s.", c.Argv[0], problem)
	}
	if verb == "list" {
		return 0
	}
	if err := env.Write(c.real(path)); err != nil {
		return c.fail(1, "%s: error: %v.", c.Argv[0], err)
	}
	return 0
}

// edit changes or prints a block, and returns what is wrong with the command.
func edit(c *Call, env *grub.Env, verb string, args []string) (problem string) {
	switch verb {
	case "create":
		*env = grub.Env{}
	case "list":
		for _, line := range env.List() {
			c.print("%s\n", line)
		}
	case "set":
		for _, arg := range args {
			name, value, ok := strings.Cut(arg, "=")
			if !ok {
				return "invalid parameter " + arg
			}
			env.Set(name, value)
		}
	case "unset":
		for _, name := range args {
			env.Unset(name)
		}
	default:
		return "Unknown command `" + verb + "'"
	}
	return ""
}

// real maps a path to the host's root, unless it is already under it.
func (c *Call) real(path string) string {
	host := c.Disk.HostPath(path)
	if rest, ok := strings.CutPrefix(host, "/run/elemental/efi"); ok {
		host = "/efi" + rest
	}
	return c.Disk.Path(host)
}
