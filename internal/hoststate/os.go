// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hoststate

import (
	"strings"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// Match reports whether a host runs an OS.
type Match string

// Values of Match.
const (
	// MatchUnknown: the host has not reported what it runs, or no image is specified.
	MatchUnknown Match = "Unknown"
	// MatchSame: the host runs it.
	MatchSame Match = "Same"
	// MatchOther: the host runs another.
	MatchOther Match = "Other"
)

// Runs reports whether the host has booted the OS that an osVersionManagement specifies. It compares the URI of the booted snapshot's image,
// or its digest if the URI contains one or a successful upgrade has resolved one.
func Runs(host *infrav1.ElementalHost, wanted infrav1.OSVersionManagement) Match {
	return Decode(wanted).RunsOn(host)
}

// Wanted is a decoded osVersionManagement, for a comparison with many hosts.
type Wanted struct {
	// Management is what was decoded.
	Management infrav1.OSVersionManagement
	// Version is its OS version; empty if it cannot be decoded.
	Version infrav1.OSVersion
}

// Decode decodes an osVersionManagement.
func Decode(wanted infrav1.OSVersionManagement) Wanted {
	version, err := osversion.Decode(wanted)
	if err != nil {
		return Wanted{Management: wanted}
	}
	return Wanted{Management: wanted, Version: version}
}

// RunsOn is Runs.
func (w Wanted) RunsOn(host *infrav1.ElementalHost) Match {
	booted := host.Status.OS
	if w.Version.ImageURI == "" || (booted.ImageURI == "" && booted.Digest == "") {
		return MatchUnknown
	}
	if booted.ImageURI != "" && osversion.SameImage(w.Version.ImageURI, booted.ImageURI) {
		return MatchSame
	}
	if booted.Digest != "" && (strings.HasSuffix(w.Version.ImageURI, "@"+booted.Digest) || succeededWith(host, w.Management)) {
		return MatchSame
	}
	return MatchOther
}

// succeededWith reports whether the host's last attempt was for this OS and succeeded, and the host still runs the same snapshot.
func succeededWith(host *infrav1.ElementalHost, wanted infrav1.OSVersionManagement) bool {
	request := Succeeded(host)
	return request != nil && osversion.Same(request.OSVersionManagement, wanted)
}

// Succeeded is the request that the host has carried out, and whose snapshot it still runs; nil if there is none. Which OS a host runs depends on this
// of its upgrade, and on nothing else.
func Succeeded(host *infrav1.ElementalHost) *infrav1.HostUpgradeRequest {
	request, status := host.Spec.Upgrade, host.Status.Upgrade
	if request == nil || status == nil || status.Attempt != request.Attempt || status.Phase != infrav1.HostUpgradeSucceeded ||
		status.Digest != host.Status.OS.Digest {
		return nil
	}
	return request
}

// Describe returns the OS that the host runs, for messages.
func Describe(host *infrav1.ElementalHost) string {
	booted := host.Status.OS
	switch {
	case booted.ImageURI != "" && booted.Digest != "":
		return booted.ImageURI + " (" + booted.Digest + ")"
	case booted.ImageURI != "":
		return booted.ImageURI
	case booted.Digest != "":
		return booted.Digest
	default:
		return "an unknown OS"
	}
}
