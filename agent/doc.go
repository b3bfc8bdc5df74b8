// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent is the daemon on each host: it registers the host with the Elemental API, then reconciles it
// with the desired state from the API - bootstrapped, upgraded, reset - and reports its status. It has no
// Kubernetes credentials and must not import Kubernetes packages.
//
// The package only wires its subpackages together:
//
//	config, identity, client   the host's configuration and identity, and the client of the API
//	loop                       fetch, act, report
//	phase                      the actions for a desired state, in order
//	upgrade                    one attempt, with its marker on disk
//	image, assess              fetching images, assessing boots
//	osplugin                   the operating system: elemental, dummy
//	diagnose, watchdog, units  diagnostics for operators; systemd
//	report, retry, system      the report, backoff, the boundary to the host
//
// There is no global state: any number of agents can run in a process, each with its own Options.
//
// # Files
//
// All in the work directory, /var/lib/elemental/agent, each replaced atomically and flushed:
//
//	private.key, hostname   the identity, made once
//	registered.json         the registration that knows the host
//	bootstrap.json          whether the host is bootstrapped; outlives the sentinel in /run
//	upgrade.json            the marker of the present or last attempt
//	known-images.json       the URIs of the images that can be booted
//	reset.json              a reset was requested and is not done
//	images/                 downloads, as OCI layouts, until the attempt has ended
//
// # Reset
//
// When a reset is desired, "elemental-agent run" fetches the reset configuration with the host's token, and stores it and the identity
// in the plugin's ResetDir (/oem/elemental/agent), as reset-order.json. It writes reset.json, sets GRUB's next_entry=recovery and
// /oem/reset-cloud-config.yaml, and reboots. In recovery, "elemental-agent reset" does the rest, and can
// be started again at any point:
//
//	DELETE the host, with the stored identity
//	elemental reset, with the stored options; the configuration is kept. reset-order.json then records that the host is wiped
//	empty the work directory: the host has a new key and, unless hostname.useExisting, a new name
//	report to the API that the host is wiped, with the stored identity
//	write the new identity and configuration to /oem (as "register --install" does); remove what was stored
//	register; wait while the name is still taken (409)
//	power off or reboot, according to agent.postReset
//
// "elemental reset" runs in a mount namespace of its own and is tried five times, counted in elemental-agent/reset-tries.json of
// the recovery partition, the last two without the images that the registration names. Then the host stays in recovery, even after a
// reboot, reports why, and tries again when the desired state has changed to no reset and back, or "reset --again" is called. Until the
// host is wiped the agent's configuration is on the recovery partition too.
//
// It exits with code 0 when all of this is done, and its caller reboots. "run" does nothing in recovery while a reset is pending or
// without an identity. Outside of recovery it boots into recovery again as long as reset.json or reset-order.json exists, or continues
// after the wipe if the latter records that it is done. If neither exists, and the host is not in recovery, "run" removes the files
// that would reset the host there.
//
// Only the registration, the step before the last, needs the registration token: a host whose token has expired meanwhile is wiped, and
// registers when it is given another.
package agent
