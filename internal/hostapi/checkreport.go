// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Bounds of a report, in bytes. A longer message is truncated, anything else is rejected.
const (
	maxMessage   = 1024
	maxURI       = 1024
	maxShort     = 256
	maxAddresses = 32
	maxStage     = 32
)

var (
	hostPhases = []string{
		"", wire.HostRegistering, wire.HostFinalizingRegistration, wire.HostInstalling, wire.HostBootstrapping, wire.HostRunning,
		wire.HostTriggeringReset, wire.HostResetting, wire.HostReconcilingOSVersion,
	}
	attemptPhases = []string{
		wire.PhaseAcknowledged, wire.PhaseFetching, wire.PhaseFetched, wire.PhaseApplying, wire.PhaseRebooting,
		wire.PhaseAssessing, wire.PhaseSucceeded, wire.PhaseFailed, wire.PhaseRolledBack,
	}
	addressTypes = []string{
		string(clusterv1.MachineHostName), string(clusterv1.MachineExternalIP), string(clusterv1.MachineInternalIP),
		string(clusterv1.MachineExternalDNS), string(clusterv1.MachineInternalDNS),
	}
	bootModes = []string{"", "active", "passive", "recovery", "live"}
)

// statusOf checks a report and converts it to the corresponding part of the status.
func statusOf(report wire.Report) (infrav1.ElementalHostStatus, error) {
	check := checker{}
	check.oneOf("phase", report.Phase, hostPhases)
	check.text("agentVersion", report.AgentVersion, maxShort)
	status := infrav1.ElementalHostStatus{
		Phase:        infrav1.HostPhase(report.Phase),
		Message:      trim(report.Message),
		Installed:    report.Installed,
		Bootstrapped: report.Bootstrapped,
		Addresses:    check.addresses(report.Addresses),
		OS:           check.os(report.OS),
		Agent:        infrav1.HostAgent{Version: report.AgentVersion, VolatileWorkDir: trim(report.VolatileWorkDir)},
		Upgrade:      check.attempt(report.Upgrade),
	}
	return status, check.err
}

// checker keeps the first error.
type checker struct{ err error }

func (c *checker) refuse(format string, args ...any) {
	if c.err == nil {
		c.err = refuse(http.StatusBadRequest, format, args...)
	}
}

func (c *checker) oneOf(field, value string, allowed []string) {
	if !slices.Contains(allowed, value) {
		c.refuse("%s is %q, want one of %q", field, shorten(value, maxShort), allowed)
	}
}

func (c *checker) text(field, value string, limit int) {
	if len(value) > limit {
		c.refuse("%s has %d bytes, at most %d are taken", field, len(value), limit)
	}
	if strings.ContainsFunc(value, misleading) {
		c.refuse("%s has control, bidirectional or invisible characters", field)
	}
}

// digest of a resolved image: the other hosts of the rollout fetch it.
func (c *checker) digest(field, value string) {
	if value != "" && !imageuri.IsDigest(value) {
		c.refuse("%s is %q, want sha256:<64 hex digits>", field, shorten(value, maxShort))
	}
}

func (c *checker) notNegative(field string, value int64) {
	if value < 0 {
		c.refuse("%s is %d, want 0 or more", field, value)
	}
}

func (c *checker) addresses(said []wire.Address) []clusterv1.MachineAddress {
	if len(said) > maxAddresses {
		c.refuse("addresses has %d entries, at most %d are taken", len(said), maxAddresses)
		return nil
	}
	var addresses []clusterv1.MachineAddress
	for _, one := range said {
		c.oneOf("addresses.type", one.Type, addressTypes)
		c.address(one)
		addresses = append(addresses, clusterv1.MachineAddress{Type: clusterv1.MachineAddressType(one.Type), Address: one.Address})
	}
	return addresses
}

// address has to be valid: it is copied to Machines, kubeconfigs and certificates.
func (c *checker) address(said wire.Address) {
	c.text("addresses.address", said.Address, maxShort)
	if said.Address == "" {
		c.refuse("addresses.address is empty")
	}
	switch clusterv1.MachineAddressType(said.Type) {
	case clusterv1.MachineInternalIP, clusterv1.MachineExternalIP:
		if parsed, err := netip.ParseAddr(said.Address); err != nil || parsed.Zone() != "" {
			c.refuse("addresses.address %q of type %s is not an IP address", shorten(said.Address, maxShort), said.Type)
		}
	default:
		if len(validation.IsDNS1123Subdomain(strings.ToLower(said.Address))) > 0 {
			c.refuse("addresses.address %q of type %s is not a host name", shorten(said.Address, maxShort), said.Type)
		}
	}
}

func (c *checker) os(said wire.OS) infrav1.HostOS {
	c.text("os.imageURI", said.ImageURI, maxURI)
	c.text("os.digest", said.Digest, maxShort)
	c.notNegative("os.snapshot", int64(said.Snapshot))
	c.oneOf("os.bootMode", said.BootMode, bootModes)
	c.text("os.bootID", said.BootID, maxShort)
	c.text("os.version", said.Version, maxShort)
	c.notNegative("os.freeBytes", said.FreeBytes)
	return infrav1.HostOS(said)
}

func (c *checker) attempt(said *wire.Attempt) *infrav1.HostUpgradeStatus {
	if said == nil {
		return nil
	}
	c.text("upgrade.attempt", said.Attempt, maxShort)
	if said.Attempt == "" {
		c.refuse("upgrade.attempt is empty")
	}
	c.oneOf("upgrade.phase", said.Phase, attemptPhases)
	c.digest("upgrade.digest", said.Digest)
	c.notNegative("upgrade.imageBytes", said.ImageBytes)
	c.notNegative("upgrade.freeBytes", said.FreeBytes)
	c.text("upgrade.fromBootID", said.FromBootID, maxShort)
	return &infrav1.HostUpgradeStatus{
		Attempt:    said.Attempt,
		Phase:      infrav1.HostUpgradePhase(said.Phase),
		Digest:     said.Digest,
		ImageBytes: said.ImageBytes,
		FreeBytes:  said.FreeBytes,
		FromBootID: said.FromBootID,
		Healthy:    said.Healthy,
		Message:    trim(said.Message),
		Checks:     checksOf(said.Checks),
		Progress:   c.progress(said.Progress),
	}
}

func (c *checker) progress(said *wire.Progress) *infrav1.HostUpgradeProgress {
	if said == nil {
		return nil
	}
	c.notNegative("upgrade.progress.bytes", said.Bytes)
	c.notNegative("upgrade.progress.totalBytes", said.TotalBytes)
	return &infrav1.HostUpgradeProgress{Stage: shorten(plain(said.Stage), maxStage), Bytes: said.Bytes, TotalBytes: said.TotalBytes}
}

func trim(message string) string { return shorten(plain(message), maxMessage) }
