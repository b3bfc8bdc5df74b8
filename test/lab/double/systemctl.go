// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package double

import (
	"context"
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/power"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/units"
)

// Exit codes of systemctl.
const (
	exitNotActive = 3
	exitNoUnit    = 4
)

func systemctl(_ context.Context, c *Call) int {
	var flags, args []string
	for _, arg := range c.Argv[1:] {
		if strings.HasPrefix(arg, "-") {
			flags = append(flags, arg)
		} else {
			args = append(args, arg)
		}
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(flags, func(f string) bool { return slices.Contains(names, f) })
	}
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	switch verb {
	case power.Reboot, power.Off:
		return c.power(power.Request{Action: verb, Force: has("--force", "-f", "-ff")})
	case "is-active":
		return isActive(c, args, has("--quiet", "-q"))
	case "list-units":
		return listUnits(c, flags)
	case "list-jobs":
		return listJobs(c)
	case "show":
		return show(c, args)
	default:
		return c.fail(1, "Unknown command verb %s.", verb)
	}
}

// isActive prints the state of each unit, and succeeds if one of them is active.
func isActive(c *Call, names []string, quiet bool) int {
	all, err := units.Read(string(c.Disk))
	if err != nil {
		return c.fail(1, "%v", err)
	}
	rc, known := exitNotActive, false
	for _, name := range names {
		if !strings.Contains(name, ".") {
			name += ".service"
		}
		state, ok := all[name]
		if !ok {
			state = units.Inactive
		}
		known = known || ok
		if state == units.Active {
			rc = 0
		}
		if !quiet {
			c.print("%s\n", state)
		}
	}
	if !known {
		rc = exitNoUnit
	}
	return rc
}

func listUnits(c *Call, flags []string) int {
	all, err := units.Read(string(c.Disk))
	if err != nil {
		return c.fail(1, "%v", err)
	}
	failedOnly := slices.Contains(flags, "--state=failed") || slices.Contains(flags, "--failed")
	for _, name := range all.Names() {
		state := all[name]
		if failedOnly && state != units.Failed {
			continue
		}
		sub := map[string]string{units.Active: "running", units.Activating: "start", units.Failed: "failed"}[state]
		if sub == "" {
			sub = "dead"
		}
		c.print("%s loaded %s %s %s\n", name, state, sub, name)
	}
	return 0
}

// listJobs prints a job for each unit that is still to be started.
func listJobs(c *Call) int {
	all, err := units.Read(string(c.Disk))
	if err != nil {
		return c.fail(1, "%v", err)
	}
	for i, name := range all.Names() {
		if all[name] == units.Activating {
			c.print("%d %s start running\n", i+1, name)
		}
	}
	return 0
}

// show simulates "show --property=Id,LoadState,FragmentPath,Transient,TriggeredBy": as with systemd, a timer triggers the service of
// the same name. All units are from unit files, but those that are named as systemd-run names them.
func show(c *Call, names []string) int {
	all, err := units.Read(string(c.Disk))
	if err != nil {
		return c.fail(1, "%v", err)
	}
	for i, name := range names {
		timer := strings.TrimSuffix(name, ".service") + ".timer"
		if _, found := all[timer]; !found {
			timer = ""
		}
		if i > 0 {
			c.print("\n")
		}
		file, transient := "/usr/lib/systemd/system/", "no"
		if strings.HasPrefix(name, "run-") {
			file, transient = "/run/systemd/transient/", "yes"
		}
		c.print("Id=%s\nLoadState=loaded\nFragmentPath=%s\nTransient=%s\nTriggeredBy=%s\n", name, file+name, transient, timer)
	}
	return 0
}

// powerCommand simulates reboot, poweroff and halt.
func powerCommand(_ context.Context, c *Call) int {
	action := power.Reboot
	if c.Argv[0] != power.Reboot {
		action = power.Off
	}
	force := slices.Contains(c.Argv, "-f") || slices.Contains(c.Argv, "--force")
	return c.power(power.Request{Action: action, Force: force})
}

// shutdown accepts "-r" for a reboot; the time argument is ignored and the shutdown is immediate.
func shutdown(_ context.Context, c *Call) int {
	action := power.Off
	if slices.Contains(c.Argv, "-r") || slices.Contains(c.Argv, "--reboot") {
		action = power.Reboot
	}
	return c.power(power.Request{Action: action})
}

func (c *Call) power(r power.Request) int {
	r.By = strings.Join(c.Argv, " ")
	if err := power.Ask(string(c.Disk), r); err != nil {
		return c.fail(1, "Failed to %s: %v", r.Action, err)
	}
	return 0
}
