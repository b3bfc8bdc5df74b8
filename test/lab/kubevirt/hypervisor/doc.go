// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hypervisor plays what KubeVirt runs on the hosts: virt-handler, which writes what becomes of a
// VirtualMachineInstance, and virt-launcher, a Pod in which the guest is. It decides nothing that virt-api and
// virt-controller decide, and its source for what is written when is KubeVirt 1.7, pkg/virt-handler.
//
// It looks at the API objects and at which hosts are up, does the next step, and remembers nothing: it can be stopped and
// started at any moment. A host that is down does nothing. One that comes up finds that its guests are gone: their
// launchers have the annotation BootID of another boot, the Pods are Failed and so are the VirtualMachineInstances, and
// virt-controller makes new ones as their run strategy says.
//
// A guest misbehaves by request: annotations of the VirtualMachineInstance, which it has from the template of its
// VirtualMachine, or from a test that patches it while it runs.
//
//	lab.elemental/not-migratable       a reason, as DisksNotLiveMigratable: LiveMigratable is False with it
//	lab.elemental/start-duration       from scheduled to running, as 5s
//	lab.elemental/stop-duration        how long the guest takes to shut down; longer than its grace period: it is killed
//	lab.elemental/fails                "true": the guest crashes as soon as it runs
//	lab.elemental/migration-duration   how long a migration takes once it has started; default 1s
//	lab.elemental/migration-fails      how many migrations fail, or "always"
//	lab.elemental/migration-hangs      "target": the target never gets ready. "source": the migration never gets on. It
//	                                   ends when it is aborted, or the annotation is removed
//	lab.elemental/target-vanishes      in how many migrations the target's launcher dies half-way, or "always"
//
// How many migrations have failed so far is in the annotation lab.elemental/migrations-failed.
package hypervisor
