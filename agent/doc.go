// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent is the daemon on each host: it registers the host with the Elemental API and then
// makes it what the API desires - bootstrapped, upgraded, reset - and reports what it is. It holds no
// Kubernetes credentials and imports nothing of Kubernetes.
//
// The package only wires the parts together; they are in the packages below it:
//
//	config, identity, client   who the host is and how it speaks to the API
//	loop                       fetch, act, report
//	phase                      what to do about a desired state, in which order
//	upgrade                    one attempt, with its marker on disk
//	image, assess              fetching images, judging boots
//	osplugin                   the operating system: elemental, dummy
//	diagnose, watchdog, units  what a person asks of a host; systemd
//	report, retry, system      the report, waits after failures, the boundary to the host
//
// It has no global state: any number of agents can run in a process, each with its own Options.
//
// # Files
//
// All in the work directory, /var/lib/elemental/agent, each replaced atomically and flushed:
//
//	private.key, hostname   the identity, made once
//	registered.json         the registration that knows the host
//	bootstrap.json          whether the host is bootstrapped; outlives the sentinel in /run
//	upgrade.json            the marker of the present or last attempt
//	known-images.json       what operators called the images that can be booted
//	reset.json              a reset was asked for and is not done
//	images/                 downloads, as OCI layouts, until the attempt has ended
//
// # Reset
//
// When a reset is desired, "elemental-agent run" asks, as the host, how to reset it, and keeps the answer and who the host is in
// the plugin's ResetDir (/oem/elemental/agent), as reset-order.json. It writes reset.json, sets GRUB's next_entry=recovery and
// /oem/reset-cloud-config.yaml, and reboots. In recovery, "elemental-agent reset" does the rest, and can
// be started again at any point:
//
//	DELETE the host, with the identity that was kept
//	elemental reset, with the options that were kept; configuration kept. reset-order.json then says that the host is wiped
//	empty the work directory: the host has a new key and, unless hostname.useExisting, a new name
//	tell the API that the host is wiped, with the identity that was kept
//	write the new identity and configuration to /oem (as "register --install" does); forget what was kept
//	register; a name that is still taken (409) is waited for
//	power off or reboot, if agent.postReset says so
//
// "elemental reset" runs in a mount namespace of its own and is tried five times, counted in elemental-agent/reset-tries.json of
// the recovery partition, the last two without the images that the registration names. Then the host stays in recovery, whatever boots
// it, reports why, and tries again when the API is seen to ask for no reset and then for one, or "reset --again" is called. The
// agent's configuration is on the recovery partition too until the host is wiped.
//
// It ends with exit code 0 when all of it is done, and whoever started it reboots. "run" does nothing in
// recovery while a reset is pending or without an identity, and outside of recovery it asks for recovery
// again as long as reset.json or reset-order.json is there, or goes on after the wipe if the latter says that it has been done.
// Where neither is, and the host is not in recovery, "run" removes what would reset the host there.
//
// None of it needs the registration token but for the last but one: a host whose token has expired meanwhile is wiped, and
// registers when it is given another.
package agent
