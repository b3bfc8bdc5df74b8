// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kills_test

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// guest is a virtual machine on the worker.
type guest struct {
	key      client.ObjectKey
	strategy kubevirtv1.VirtualMachineRunStrategy
	// moves reports that it can be migrated. The others are shut down and restored.
	moves bool
	// uid of the first instance.
	uid types.UID
}

// guests leave the worker in all possible ways: by an eviction, by a migration of our own, and by being shut down,
// which is reverted differently for each run strategy.
var guests = []*guest{
	{key: keyOf("evicted"), strategy: kubevirtv1.RunStrategyAlways, moves: true},
	{key: keyOf("migrated"), strategy: kubevirtv1.RunStrategyAlways, moves: true},
	{key: keyOf("stopped"), strategy: kubevirtv1.RunStrategyAlways},
	{key: keyOf("started"), strategy: kubevirtv1.RunStrategyManual},
}

func keyOf(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: vm.Namespace, Name: name}
}

// startGuests creates them, while there is no other node for those that must not migrate.
func startGuests(ctx context.Context) {
	GinkgoHelper()
	for _, g := range guests {
		spec := vm.Spec{Name: g.key.Name, Prefer: worker.Node}
		switch {
		case g.key.Name == "evicted":
			spec.EvictionStrategy = kubevirtv1.EvictionStrategyLiveMigrate
		case !g.moves:
			spec.Prefer, spec.Require = "", worker.Node
			spec.Labels = map[string]string{infrav1.VMPolicyLabel: string(infrav1.VMPolicyShutdownAndRestore)}
		}
		state, err := cluster.CreateVM(ctx, spec)
		Expect(err).NotTo(HaveOccurred())
		g.uid = state.UID
		// One that is started only on request was started by then.
		strategy := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"runStrategy":"`+string(g.strategy)+`"}}`))
		Expect(theLab.WorkloadKube.Patch(ctx, vm.New(spec), strategy)).To(Succeed())
	}
}

// gatherGuests migrates those back to the worker that have left it.
func gatherGuests(ctx context.Context) {
	GinkgoHelper()
	for _, g := range guests {
		Expect(cluster.MoveVM(ctx, g.key, worker.Node)).To(Succeed())
		Eventually(cluster.VM, patience, look).WithContext(ctx).WithArguments(g.key).Should(HaveField("Migratable", true), "KubeVirt says so")
	}
}

// guestStarts counts how often each was started, by key.
func guestStarts() map[string]int { return audit.Starts(suite.Audit(theLab.Workload)) }

// expectGuestsBack asserts that each runs as before, and was restarted not at all, or once if it had to be shut down.
func expectGuestsBack(ctx context.Context, before map[string]int, since time.Time) {
	GinkgoHelper()
	for _, g := range guests {
		Eventually(g.machine, patience, look).WithContext(ctx).Should(And(
			HaveField("Spec.RunStrategy", HaveValue(Equal(g.strategy))),
			HaveField("Annotations", Not(HaveKey(infrav1.VMPowerStateAnnotation))),
			HaveField("Labels", Not(HaveKey(infrav1.VMStoppedLabel))),
		), g.key.Name)
		Eventually(cluster.VM, patience, look).WithContext(ctx).WithArguments(g.key).Should(And(
			HaveField("Running()", true), HaveField("Evacuating", BeEmpty())), g.key.Name)
	}
	starts := guestStarts()
	for _, g := range guests {
		state, err := cluster.VM(ctx, g.key)
		Expect(err).NotTo(HaveOccurred())
		if g.moves {
			Expect(state.UID).To(Equal(g.uid), "%s was never restarted", g.key.Name)
			continue
		}
		Expect(state.Node).To(Equal(worker.Node), g.key.Name)
		Expect(starts[g.key.String()]-before[g.key.String()]).To(Equal(1), func() string {
			return g.key.Name + " was started once, and not:\n" + g.writes(since)
		})
	}
	migrations := &kubevirtv1.VirtualMachineInstanceMigrationList{}
	Expect(theLab.WorkloadKube.List(ctx, migrations, client.HasLabels{infrav1.EvacuationLabel})).To(Succeed())
	Expect(migrations.Items).To(BeEmpty(), "no migration of ours is left")
}

func (g *guest) machine(ctx context.Context) (*kubevirtv1.VirtualMachine, error) {
	machine := &kubevirtv1.VirtualMachine{}
	return machine, theLab.WorkloadKube.Get(ctx, g.key, machine)
}

// writes since then that concern it, one per line.
func (g *guest) writes(since time.Time) string {
	lines := &strings.Builder{}
	for _, event := range suite.Audit(theLab.Workload) {
		ref := event.ObjectRef
		if ref == nil || event.StageTimestamp.Time.Before(since) || !isWrite(event) || !strings.Contains(ref.Name, g.key.Name) {
			continue
		}
		code := int32(0)
		if event.ResponseStatus != nil {
			code = event.ResponseStatus.Code
		}
		fmt.Fprintln(lines, event.StageTimestamp.UTC().Format("15:04:05.000"), event.User.Username, event.Verb, path.Join(ref.Resource, ref.Subresource), ref.Name, code)
	}
	return lines.String()
}

func isWrite(event auditv1.Event) bool {
	switch event.Verb {
	case "create", "update", "patch", "delete":
		return true
	}
	return false
}
