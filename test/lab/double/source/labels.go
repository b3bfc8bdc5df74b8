// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package source

// Labels of an image's configuration that make a host of the lab behave in some way.
const (
	// LabelVersion is the PRETTY_NAME of the OS.
	LabelVersion = "lab.elemental/version"
	// LabelKubelet is the version of the kubelet in the image, such as v1.36.3.
	LabelKubelet = "lab.elemental/kubelet-version"
	// LabelBoot is BootOK (default), BootUnhealthy, BootUnrouted or BootNone.
	LabelBoot = "lab.elemental/boot"
	// LabelKubeletFlaps with any value makes the kubelet of the image exit and restart repeatedly, on hosts that are
	// nodes.
	LabelKubeletFlaps = "lab.elemental/kubelet-flaps"
	// LabelKubeletHealthz with any value makes the kubelet of the image answer elsewhere than its configuration says, as one of K3s does
	// whose health port a kubelet-arg has moved.
	LabelKubeletHealthz = "lab.elemental/kubelet-healthz"
	// LabelUpgradeSeconds is how long writing the image takes.
	LabelUpgradeSeconds = "lab.elemental/upgrade-seconds"
	// LabelUpgradeKilled kills the first upgrade to the image, or powers the whole host off, at the moment given by its
	// value.
	LabelUpgradeKilled = "lab.elemental/upgrade-killed"
	// LabelKernel with the value NoKernel marks an image that cannot become the recovery system.
	LabelKernel = "lab.elemental/kernel"
	// LabelFailingStage names one of the toolkit's hooks after the image is unpacked, as post-upgrade, in which a cloud-init file of the host
	// fails.
	LabelFailingStage = "lab.elemental/failing-stage"
	// LabelBootSeconds is how long the image takes to boot, instead of the host's default.
	LabelBootSeconds = "lab.elemental/boot-seconds"
)

// Values of LabelBoot.
const (
	// BootOK boots and passes its assessment.
	BootOK = "ok"
	// BootUnhealthy boots, but its assessment and kubelet fail.
	BootUnhealthy = "unhealthy"
	// BootUnrouted boots and passes the toolkit's assessment, with a network that has no default route.
	BootUnrouted = "unrouted"
	// BootNone panics in the kernel.
	BootNone = "none"
)

// Values of LabelUpgradeKilled.
const (
	// Once kills the CLI when half of the image is unpacked.
	Once = "once"
	// OnceInHook kills the CLI in a hook in the new tree, with the host's directories mounted there.
	OnceInHook = "once-in-hook"
	// OncePacking kills the CLI while it copies the tree into the snapshot's image, which is mounted from a loop
	// device.
	OncePacking = "once-packing"
	// OnceUnrecorded powers the host off after the new snapshot has become the default, but before that is recorded.
	OnceUnrecorded = "once-unrecorded"
)

// NoKernel is the value of LabelKernel.
const NoKernel = "none"
