// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hypervisor

import (
	"cmp"
	"strconv"
	"time"

	kubevirtv1 "kubevirt.io/api/core/v1"
)

// Annotations of a VirtualMachineInstance that make its guest misbehave. See the package
// documentation.
const (
	NotMigratable     = "lab.elemental/not-migratable"
	StartDuration     = "lab.elemental/start-duration"
	StopDuration      = "lab.elemental/stop-duration"
	Fails             = "lab.elemental/fails"
	MigrationDuration = "lab.elemental/migration-duration"
	MigrationFails    = "lab.elemental/migration-fails"
	MigrationHangs    = "lab.elemental/migration-hangs"
	TargetVanishes    = "lab.elemental/target-vanishes"
	// MigrationsFailed is the counter that this package writes.
	MigrationsFailed = "lab.elemental/migrations-failed"
)

// Values of the annotations.
const (
	Always     = "always"
	HangTarget = "target"
	HangSource = "source"
)

// BootID is the annotation of a launcher's Pod with the boot ID of its host when it was started.
const BootID = "lab.elemental/boot-id"

// LauncherSelector selects the Pods that this package simulates.
const LauncherSelector = kubevirtv1.AppLabel + "=" + Launcher

// Launcher is the value of label kubevirt.io of a launcher's Pod.
const Launcher = "virt-launcher"

const (
	defaultMigration = time.Second
	// defaultGrace is the default grace period of a guest's shutdown. Source: KubeVirt 1.7,
	// api/core/v1, DefaultGracePeriodSeconds.
	defaultGrace = 30 * time.Second
)

// duration requested by an annotation; the default if it is missing or invalid.
func duration(vmi *kubevirtv1.VirtualMachineInstance, annotation string, otherwise time.Duration) time.Duration {
	asked, err := time.ParseDuration(vmi.Annotations[annotation])
	if err != nil || asked < 0 {
		return otherwise
	}
	return asked
}

// isDue reports whether the annotation asks for one more failure.
func isDue(vmi *kubevirtv1.VirtualMachineInstance, annotation string) bool {
	asked := vmi.Annotations[annotation]
	if asked == Always {
		return true
	}
	times, err := strconv.Atoi(asked)
	return err == nil && failed(vmi) < times
}

// failed is the number of migrations that have failed.
func failed(vmi *kubevirtv1.VirtualMachineInstance) int {
	count, _ := strconv.Atoi(cmp.Or(vmi.Annotations[MigrationsFailed], "0"))
	return count
}

func gracePeriod(vmi *kubevirtv1.VirtualMachineInstance) time.Duration {
	if vmi.Spec.TerminationGracePeriodSeconds == nil {
		return defaultGrace
	}
	return time.Duration(*vmi.Spec.TerminationGracePeriodSeconds) * time.Second
}
