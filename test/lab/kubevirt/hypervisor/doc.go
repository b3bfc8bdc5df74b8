// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hypervisor simulates what KubeVirt runs on the hosts: virt-handler, which writes the status of a
// VirtualMachineInstance, and virt-launcher, the Pod that the guest runs in. It makes none of the decisions of
// virt-api and virt-controller; what it writes when follows KubeVirt 1.7, pkg/virt-handler.
//
// It reads the API objects and which hosts are up, does the next step, and keeps no state: it can be stopped and
// started at any moment. Nothing happens on a host that is down. One that comes up has lost its guests: their
// launchers have the annotation BootID of another boot, the Pods and the VirtualMachineInstances become Failed, and
// virt-controller creates new ones according to their run strategy.
//
// A guest misbehaves on request, by annotations of the VirtualMachineInstance, which are set in the template of its
// VirtualMachine, or by a test that patches it while it runs.
//
//	lab.elemental/not-migratable       the reason of LiveMigratable False, such as DisksNotLiveMigratable
//	lab.elemental/start-duration       time from scheduled to running, such as 5s
//	lab.elemental/stop-duration        how long the guest takes to shut down; it is killed after its grace period
//	lab.elemental/fails                "true": the guest crashes as soon as it runs
//	lab.elemental/migration-duration   how long a migration takes once it has started; default 1s
//	lab.elemental/migration-fails      how many migrations fail, or "always"
//	lab.elemental/migration-hangs      "target": the target never becomes ready. "source": the migration never progresses. It
//	                                   ends when it is aborted, or the annotation is removed
//	lab.elemental/target-vanishes      in how many migrations the target's launcher dies halfway, or "always"
//
// The annotation lab.elemental/migrations-failed counts the failed migrations.
package hypervisor
