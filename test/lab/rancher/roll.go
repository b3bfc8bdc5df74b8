// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rollTier does the next thing for each machine of a tier, of as many at once as its concurrency allows.
func (p *planner) rollTier(ctx context.Context, t tier, entries []*entry, machines int) (message string, err error) {
	limit, err := t.limit(len(entries))
	if err != nil {
		return "", err
	}
	unavailable, waits := countUnavailable(entries), said{}
	for _, e := range entries {
		switch {
		case !e.hasPlan():
			waits.add(configuring, e, "waiting for plan to be applied")
			err = p.deliver(ctx, e)
		case e.isChanged():
			mayBegin := e.isInDrain() || limit == 0 || unavailable < limit
			if mayBegin && !e.isUnavailable() {
				unavailable++
			}
			err = p.rollChanged(ctx, e, mayBegin, t.options, machines, waits)
		default:
			err = p.finish(ctx, e, waits)
		}
		if err != nil {
			return "", err
		}
	}
	return waits.message(t.name), nil
}

// countUnavailable machines of a tier. One without a plan is new, and does not count.
func countUnavailable(entries []*entry) int {
	count := 0
	for _, e := range entries {
		if e.hasPlan() && e.isUnavailable() {
			count++
		}
	}
	return count
}

// rollChanged has a machine drained, and then delivers its plan.
func (p *planner) rollChanged(ctx context.Context, e *entry, mayBegin bool, options DrainOptions, machines int, waits said) error {
	if !mayBegin {
		waits.add(configuring, e, "waiting for its turn")
		return nil
	}
	isDrained, problem, err := p.drain(ctx, e, options, machines)
	switch {
	case err != nil:
		return err
	case problem != "":
		waits.add(draining, e, problem)
	case !isDrained:
		waits.add(draining, e, "draining node")
	default:
		waits.add(configuring, e, "waiting for plan to be applied")
		return p.deliver(ctx, e)
	}
	return nil
}

// drain asks for a drain with the options as they are now, and reports whether it is done. Nothing is asked of a machine without Node.
func (p *planner) drain(ctx context.Context, e *entry, options DrainOptions, machines int) (isDone bool, problem string, err error) {
	options = options.inClusterOf(machines)
	if !e.machine.Status.NodeRef.IsDefined() || !options.needed() || !e.isDrainNeeded() {
		return true, "", nil
	}
	token, err := options.Token()
	if err != nil {
		return false, "", err
	}
	if e.secret.Annotations[DrainOptionsAnnotation] != token {
		return false, "", p.annotate(ctx, e, DrainOptionsAnnotation, token)
	}
	return e.secret.Annotations[DrainDoneAnnotation] == token, e.secret.Annotations[DrainErrorAnnotation], nil
}

// finish has a machine uncordoned whose plan is applied and whose probes are healthy.
func (p *planner) finish(ctx context.Context, e *entry, waits said) error {
	token := e.secret.Annotations[DrainOptionsAnnotation]
	switch {
	case !isApplied(e.secret):
		waits.add(configuring, e, "waiting for plan to be applied")
	case !isHealthy(e.secret):
		waits.add(configuring, e, "waiting for probes: "+kubeletProbe)
	case token != "" && e.secret.Annotations[UncordonAnnotation] != token:
		waits.add(uncordoning, e, "waiting for uncordon to finish")
		return p.annotate(ctx, e, UncordonAnnotation, token)
	case e.secret.Annotations[DrainErrorAnnotation] != "":
		waits.add(uncordoning, e, e.secret.Annotations[DrainErrorAnnotation])
	case e.secret.Annotations[UncordonAnnotation] != "":
		waits.add(uncordoning, e, "waiting for uncordon to finish")
	}
	return nil
}

// deliver writes the plan for the agent. What was probed before does not count.
func (p *planner) deliver(ctx context.Context, e *entry) error {
	return p.update(ctx, e, func() {
		if e.secret.Data == nil {
			e.secret.Data = map[string][]byte{}
		}
		delete(e.secret.Data, probesKey)
		e.secret.Data[planKey], e.secret.Data[planStateKey] = e.desired, []byte(planPending)
	})
}

func (p *planner) annotate(ctx context.Context, e *entry, key, value string) error {
	return p.update(ctx, e, func() { e.secret.Annotations[key] = value })
}

// update replaces a plan Secret, and removes annotations on the way that the planner takes for its own and does not know.
func (p *planner) update(ctx context.Context, e *entry, change func()) error {
	if err := p.live.Get(ctx, client.ObjectKeyFromObject(e.secret), e.secret); err != nil {
		return fmt.Errorf("reading the plan of Machine %s: %w", e.machine.Name, err)
	}
	if e.secret.Annotations == nil {
		e.secret.Annotations = map[string]string{}
	}
	wipe(e.secret.Annotations)
	change()
	if err := p.kube.Update(ctx, e.secret); err != nil {
		return fmt.Errorf("writing the plan of Machine %s: %w", e.machine.Name, err)
	}
	return nil
}
