// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

const (
	// maxShown is the maximum number of units that are queried at once. The rest count as a part of the OS.
	maxShown = 64
	// maxNamed is the maximum number of units that a message names.
	maxNamed = 8
)

var (
	// connection matches the instances that systemd makes for the connections of a socket with Accept=yes: a counter, since systemd 258 a
	// cookie, and the process or the addresses at both ends. Source: systemd, src/core/socket.c, instance_from_socket.
	connection = regexp.MustCompile(`^\d+-(\d+-)?(\d+(_\d+)?-\d+|unknown|[0-9a-f.:]+:\d+-[0-9a-f.:]+:\d+)$`)
	// deviceNumber matches an instance that is a device's major and minor number, which differ between boots.
	deviceNumber = regexp.MustCompile(`^\d+:\d+$`)
)

// instanceOf splits the name of an instance of a template; the instance is empty for other units.
func instanceOf(unit string) (template, instance string) {
	name, suffix := unit, ""
	if dot := strings.LastIndexByte(unit, '.'); dot >= 0 {
		name, suffix = unit[:dot], unit[dot:]
	}
	prefix, instance, _ := strings.Cut(name, "@")
	return prefix + "@" + suffix, instance
}

// identity is the name of a unit without what differs between boots. All other instances are different units: user@1000.service is not
// user@1001.service.
func identity(unit string) string {
	if template, instance := instanceOf(unit); deviceNumber.MatchString(instance) {
		return template
	}
	return unit
}

// sortOut separates units that are part of the OS from those that programs make while it runs: one for each connection, transient units,
// such as containers, and mounts without a unit file. It queries all of them at once. Units that a timer triggers are in neither list if
// they are to be left out.
func sortOut(ctx context.Context, host *system.Host, units []string, leaveOutTimed bool) (ofOS, others []string, err error) {
	isConnection := func(unit string) bool {
		_, instance := instanceOf(unit)
		return connection.MatchString(instance)
	}
	for _, unit := range units {
		if isConnection(unit) {
			others = append(others, unit)
		}
	}
	units = slices.DeleteFunc(slices.Clone(units), isConnection)
	known, err := show(ctx, host, units)
	if err != nil {
		return nil, nil, err
	}
	for _, unit := range units {
		switch {
		case leaveOutTimed && known[unit].isTimed():
		case known[unit].isMadeByProgram():
			others = append(others, unit)
		default:
			ofOS = append(ofOS, unit)
		}
	}
	slices.Sort(others)
	return ofOS, others, nil
}

// properties of a unit, as systemd shows them; nil if unknown.
type properties map[string]string

// isMadeByProgram reports whether a unit was made by a program or by a mount, instead of a unit file.
func (p properties) isMadeByProgram() bool {
	file, found := p["FragmentPath"]
	return p["Transient"] == "yes" || found && file == "" && p["LoadState"] == "loaded"
}

func (p properties) isTimed() bool {
	return slices.ContainsFunc(strings.Fields(p["TriggeredBy"]), func(unit string) bool { return strings.HasSuffix(unit, ".timer") })
}

// show returns the properties of units by name.
func show(ctx context.Context, host *system.Host, units []string) (map[string]properties, error) {
	if len(units) == 0 {
		return nil, nil
	}
	// A name may begin with a dash, as -.mount does.
	args := append([]string{"show", "--property=Id,LoadState,FragmentPath,Transient,TriggeredBy", "--"}, units[:min(len(units), maxShown)]...)
	output, err := system.Check(ctx, host.Runner, "systemctl", args...)
	if err != nil {
		return nil, fmt.Errorf("asking what units are: %w", err)
	}
	known := map[string]properties{}
	// Units are separated by an empty line, and properties are in any order.
	for block := range strings.SplitSeq(output, "\n\n") {
		of := properties{}
		for line := range strings.Lines(block) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			of[name] = value
		}
		known[of["Id"]] = of
	}
	return known, nil
}

// some names the first units of many.
func some(units []string) string {
	if len(units) <= maxNamed {
		return strings.Join(units, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(units[:maxNamed], ", "), len(units)-maxNamed)
}
