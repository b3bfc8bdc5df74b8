// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/storage"
)

// imposed is a condition that blocks an upgrade, or causes a warning.
type imposed struct {
	// says is a line that kubectl prints, and check the name of the check that causes it.
	says, check string
	impose      []func(context.Context)
	lift        []func(context.Context)
}

func all(steps ...func(context.Context)) []func(context.Context) { return steps }

func run(ctx context.Context, steps []func(context.Context)) {
	for _, step := range steps {
		step(ctx)
	}
}

var (
	snapshot = object(storage.VolumeSnapshot, "daily", map[string]any{"status": map[string]any{"readyToUse": false}})
	backup   = object(storage.VirtualMachineBackup, "nightly", nil)
	restore  = object(storage.VirtualMachineRestore, "rescue", nil)
	plan     = object(planKind, "agents", map[string]any{"status": map[string]any{"applying": []any{"a"}}})
)

var _ = DescribeTable("kubectl patch --dry-run=server", func(ctx SpecContext, verdict string, make func() imposed) {
	what := make()
	run(ctx, what.impose)
	said := what.says + " [" + what.check + "]"
	if verdict == "blocks" {
		Eventually(dryRun, patience, look).WithContext(ctx).Should(And(
			ContainSubstring("Error from server"), ContainSubstring("the upgrade cannot start now:"), ContainSubstring("\n"+said+"\n")))
	} else {
		Eventually(dryRun, patience, look).WithContext(ctx).Should(And(
			ContainSubstring("Warning: Beware of "+said), Not(ContainSubstring("Error from server"))))
	}
	AddReportEntry("kubectl", dryRun(ctx))
	run(ctx, what.lift)
	Eventually(dryRun, patience, look).WithContext(ctx).Should(And(
		ContainSubstring("workers patched"), Not(ContainSubstring("["+what.check+"]"))))
},
	Entry("names a cordoned node", "blocks", func() imposed {
		return imposed{
			says: "Node/" + first + ": was cordoned by someone else and is left alone: kubectl uncordon it to let its upgrade start", check: "NodeSchedulable",
			impose: all(workload("cordon", first)), lift: all(workload("uncordon", first)),
		}
	}),
	Entry("names a node in maintenance", "blocks", func() imposed {
		const mark = "harvesterhci.io/maintain-status"
		return imposed{
			says: "Node/" + last + ": is in maintenance (annotation " + mark + "): end that to let its upgrade start", check: "Maintenance",
			impose: all(workload("annotate", "node", last, mark+"=running")), lift: all(workload("annotate", "node", last, mark+"-")),
		}
	}),
	Entry("names a snapshot that is being taken", "blocks", func() imposed {
		return imposed{
			says: "VolumeSnapshot/default/daily: a snapshot is being taken: wait until that is done, or delete it", check: "Backups",
			impose: all(create(snapshot)), lift: all(set(storage.VolumeSnapshot, "daily", true, "status", "readyToUse")),
		}
	}),
	Entry("names a backup", "blocks", func() imposed {
		return imposed{
			says: "VirtualMachineBackup/default/nightly: a virtual machine is being backed up: wait until that is done, or delete it", check: "Backups",
			impose: all(create(backup)), lift: all(set(storage.VirtualMachineBackup, "nightly", true, "status", "readyToUse")),
		}
	}),
	Entry("names a restore", "blocks", func() imposed {
		return imposed{
			says: "VirtualMachineRestore/default/rescue: a virtual machine is being restored: wait until that is done, or delete it", check: "Backups",
			impose: all(create(restore)), lift: all(set(storage.VirtualMachineRestore, "rescue", true, "status", "complete")),
		}
	}),
	Entry("names another system's upgrade", "blocks", func() imposed {
		return imposed{
			says: "Plan/default/agents: system-upgrade-controller is changing nodes: wait until that is done", check: "OtherUpgrades",
			impose: all(create(plan)), lift: all(remove(plan)),
		}
	}),
	Entry("names a KubeVirt that is being upgraded", "blocks", func() imposed {
		return imposed{
			says: "KubeVirt/kubevirt: is being updated from v1.7.0 to v1.8.0: wait until that is done", check: "KubeVirt",
			impose: all(set(kubeVirtKind, "kubevirt", "v1.8.0", "status", "targetKubeVirtVersion")),
			lift:   all(set(kubeVirtKind, "kubevirt", "v1.7.0", "status", "targetKubeVirtVersion")),
		}
	}),
	Entry("warns of launchers of a former version", "warns", func() imposed {
		return imposed{
			says: "KubeVirt/kubevirt: has 2 virtual machines that still run in launchers of a former version: " +
				"those that can be migrated get a new one when their node is evacuated, restart the others when it suits", check: "KubeVirt",
			impose: all(set(kubeVirtKind, "kubevirt", int64(2), "status", "outdatedVirtualMachineInstanceWorkloads")),
			lift:   all(set(kubeVirtKind, "kubevirt", int64(0), "status", "outdatedVirtualMachineInstanceWorkloads")),
		}
	}),
	Entry("names the webhook without which evictions stop virtual machines", "blocks", func() imposed {
		return imposed{
			says: "ValidatingWebhookConfiguration/virt-api-validator: does not have webhook virt-launcher-eviction-interceptor.kubevirt.io: " +
				"bring virt-operator back, an eviction would stop virtual machines instead of moving them", check: "VirtAPI",
			impose: all(remove(interceptor())), lift: all(create(interceptor())),
		}
	}),
	Entry("names a degraded volume", "blocks", func() imposed {
		return imposed{
			says:  "Volume/pv-degraded: is degraded and has a replica on Node " + first + ": wait until Longhorn has rebuilt it, or take what uses it out of service",
			check: "Volumes",
			impose: all(func(ctx context.Context) {
				Expect(volumes.AddVolume(ctx, storage.VolumeSpec{Name: "pv-degraded", AttachedTo: first, Nodes: []string{first, last}})).To(Succeed())
				Expect(volumes.FailReplica(ctx, "pv-degraded", last)).To(Succeed())
			}),
			lift: all(func(ctx context.Context) {
				Expect(volumes.StartRebuild(ctx, "pv-degraded", last)).To(Succeed())
				Expect(volumes.FinishRebuild(ctx, "pv-degraded", last)).To(Succeed())
				// No simulated Longhorn runs here that would detach it when a later spec drains its node.
				Expect(volumes.Detach(ctx, "pv-degraded")).To(Succeed())
			}),
		}
	}),
	Entry("warns of an unused volume with one replica", "warns", func() imposed {
		return imposed{
			says: "Volume/pv-single: has its only healthy replica on Node " + last + " and cannot be attached while that is down", check: "Volumes",
			impose: all(func(ctx context.Context) {
				Expect(volumes.AddVolume(ctx, storage.VolumeSpec{Name: "pv-single", AttachedTo: last, Nodes: []string{last}})).To(Succeed())
				Expect(volumes.Detach(ctx, "pv-single")).To(Succeed())
			}),
			lift: all(workload("--namespace", storage.Namespace, "delete", "volumes.longhorn.io", "pv-single")),
		}
	}),
)

var _ = Describe("A dry run", func() {
	It("prints the plan and changes nothing", func(ctx SpecContext) {
		before := asked(ctx)
		lines := strings.Split(strings.TrimSpace(dryRun(ctx)), "\n")
		Expect(lines).To(HaveExactElements(
			// Upgrades of specs before, if there were any, say how long it takes.
			MatchRegexp("^Warning: Cluster demo: 2 nodes to upgrade, 1 at a time(, about [0-9]+ (second|minute)s? by their last upgrades)?$"),
			MatchRegexp("^Warning: 1. Node ("+first+"|"+last+")$"),
			MatchRegexp("^Warning: 2. Node ("+first+"|"+last+")$"),
			"elementalmachinetemplate.infrastructure.cluster.x-k8s.io/workers patched",
		))
		Expect(before).To(ContainElements(asked(ctx)), "nothing is new or changed; a former rollout may be deleted meanwhile")
	})
})

// asked are the requests without their results, which may concern a rollout that has just ended.
func asked(ctx context.Context) []string {
	GinkgoHelper()
	printed, err := kubectl(ctx, "get", "elementalmachinetemplates,machinedeployments,elementalhostupgrades",
		"-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name}/{.metadata.generation}: {.spec}{"\n"}{end}`)
	Expect(err).NotTo(HaveOccurred())
	Expect(printed).To(And(ContainSubstring("ElementalMachineTemplate/"), ContainSubstring("MachineDeployment/")))
	return strings.Split(strings.TrimSpace(printed), "\n")
}
