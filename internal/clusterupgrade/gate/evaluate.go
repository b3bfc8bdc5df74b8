// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Verdict on a gate.
type Verdict struct {
	// Name of the gate.
	Name string
	// Closed says why it is; empty if it is open.
	Closed string
}

// Evaluator evaluates the gates of one ElementalClusterUpgrade.
type Evaluator struct {
	Workload workload.Connector
	Upgrade  *infrav1.ElementalClusterUpgrade
	// Now is the time.
	Now time.Time
	// Observed is what was seen of Jobs, whose times are by the clock of the workload cluster. It is needed for gates with a Job only.
	Observed *observed.Changes
}

// account is a workload cluster as the ServiceAccount of the gates sees it.
type account struct {
	client.Client
	config *rest.Config
	key    client.ObjectKey
}

// Objects evaluates the gates with an object, on what is so now.
func (e Evaluator) Objects(ctx context.Context) ([]Verdict, error) {
	return e.evaluate(ctx, e.gates(isObject), func(ctx context.Context, as *account, gate infrav1.UpgradeGate) (string, error) {
		return objectDenies(ctx, as, gate)
	})
}

// All evaluates the gates, those with an object first, and runs the Jobs while those are open. A Job runs once for each key, until it completes.
// Verdicts are in the order of the specification.
func (e Evaluator) All(ctx context.Context, key string) ([]Verdict, error) {
	verdicts, err := e.Objects(ctx)
	if err != nil {
		return nil, err
	}
	runs := func(ctx context.Context, as *account, gate infrav1.UpgradeGate) (string, error) {
		return e.jobDenies(ctx, as, gate, key)
	}
	jobs := []Verdict{}
	if slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Closed != "" }) {
		for _, gate := range e.gates(isJob) {
			jobs = append(jobs, Verdict{Name: gate.Name, Closed: "its Job is run after the gates with an object are open"})
		}
	} else if jobs, err = e.evaluate(ctx, e.gates(isJob), runs); err != nil {
		return nil, err
	}
	verdicts = append(verdicts, jobs...)
	slices.SortStableFunc(verdicts, func(a, b Verdict) int { return cmp.Compare(e.position(a), e.position(b)) })
	return verdicts, nil
}

func isObject(gate infrav1.UpgradeGate) bool { return gate.Object != nil }

func isJob(gate infrav1.UpgradeGate) bool { return gate.Job != nil }

func (e Evaluator) gates(are func(infrav1.UpgradeGate) bool) []infrav1.UpgradeGate {
	return slices.DeleteFunc(slices.Clone(e.Upgrade.Spec.Gates), func(g infrav1.UpgradeGate) bool { return !are(g) })
}

func (e Evaluator) position(verdict Verdict) int {
	return slices.IndexFunc(e.Upgrade.Spec.Gates, func(g infrav1.UpgradeGate) bool { return g.Name == verdict.Name })
}

// evaluate gates one after the other. An API server that does not answer is not asked again for the others.
func (e Evaluator) evaluate(
	ctx context.Context, gates []infrav1.UpgradeGate, denies func(context.Context, *account, infrav1.UpgradeGate) (string, error),
) ([]Verdict, error) {
	if len(gates) == 0 {
		return nil, nil
	}
	as, closed, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	verdicts := []Verdict{}
	for _, gate := range gates {
		said := closed
		if closed == "" {
			said, err = denies(ctx, as, gate)
		}
		if err != nil && !workload.IsFailure(err) {
			return nil, err
		}
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to evaluate a gate", "gate", gate.Name)
			said = workload.Unreached(e.Upgrade.Spec.ClusterName, err)
		}
		if workload.IsUnanswered(err) {
			closed = said
		}
		err = nil
		verdicts = append(verdicts, Verdict{Name: gate.Name, Closed: said})
	}
	return verdicts, nil
}

// connect to the workload cluster as the ServiceAccount, or say why that cannot be.
func (e Evaluator) connect(ctx context.Context) (as *account, why string, err error) {
	ref, name := e.Upgrade.Spec.GateServiceAccount, e.Upgrade.Spec.ClusterName
	if ref == nil {
		return nil, "set spec.gateServiceAccount", nil
	}
	cluster, err := e.Workload.Connect(ctx, client.ObjectKey{Namespace: e.Upgrade.Namespace, Name: name})
	if errors.Is(err, workload.ErrUnreachable) {
		return nil, workload.Unreached(name, err), nil
	}
	if err != nil {
		return nil, "", err
	}
	as = &account{key: client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}}
	if why, err := notAllowed(ctx, cluster, as.key); err != nil || why != "" {
		if workload.IsFailure(err) {
			return nil, workload.Unreached(name, err), nil
		}
		return nil, why, err
	}
	as.Client, as.config, err = cluster.As(as.key)
	return as, "", err
}

// notAllowed says why a ServiceAccount may not be acted as. Whoever creates an ElementalClusterUpgrade could name one that may do everything:
// the owner of the workload cluster says which is for gates.
func notAllowed(ctx context.Context, cluster *workload.Cluster, key client.ObjectKey) (string, error) {
	found := &corev1.ServiceAccount{}
	switch err := cluster.Live().Get(ctx, key, found); {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("ServiceAccount %s of spec.gateServiceAccount does not exist in the workload cluster", key), nil
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("reading ServiceAccount %s of spec.gateServiceAccount is forbidden: %s", key, oneLine(err.Error())), nil
	case err != nil:
		return "", fmt.Errorf("reading ServiceAccount %s of the workload cluster: %w", key, err)
	}
	if found.Annotations[infrav1.GatesAnnotation] != infrav1.GatesAllowed {
		return fmt.Sprintf("ServiceAccount %s of the workload cluster is not for gates: its owner allows that by annotation %s: %s",
			key, infrav1.GatesAnnotation, infrav1.GatesAllowed), nil
	}
	return "", nil
}
