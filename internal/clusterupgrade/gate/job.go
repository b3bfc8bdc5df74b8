// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// keptSeconds is how long a Job that has finished is kept, beyond the time after which it is run again.
const keptSeconds = 3600

// jobDenies says why the Job of a gate has not completed; empty if it has. The Job is found by its name, whoever has started it.
func (e Evaluator) jobDenies(ctx context.Context, as *account, gate infrav1.UpgradeGate, key string) (string, error) {
	wanted := e.job(gate, key)
	name := client.ObjectKeyFromObject(wanted)
	found := &batchv1.Job{}
	err := as.Get(ctx, name, found)
	if apierrors.IsNotFound(err) {
		err = e.start(ctx, as, wanted)
		found = wanted
	}
	if apierrors.IsForbidden(err) {
		return fmt.Sprintf("running Job %s is forbidden: %s", name, oneLine(err.Error())), nil
	}
	if apierrors.IsInvalid(err) {
		return fmt.Sprintf("Job %s is not valid: %s", name, oneLine(err.Error())), nil
	}
	if err != nil {
		return "", err
	}
	failure := condition(found, batchv1.JobFailed)
	switch {
	case !found.DeletionTimestamp.IsZero():
		return fmt.Sprintf("Job %s is run again as soon as the former one is deleted", name), nil
	case condition(found, batchv1.JobComplete) != nil:
		return "", nil
	case failure == nil && ptr.Deref(found.Spec.Suspend, false):
		return fmt.Sprintf("Job %s is suspended, and its time does not run out: resume it, or delete it to have it run again", name), nil
	case failure == nil:
		return running(found), nil
	}
	return e.failed(ctx, as, gate, found, failure)
}

// running says what a Job is at. A Pod that is refused, whose image cannot be pulled or that no node has room for is not Ready until the time is over.
func running(job *batchv1.Job) string {
	name, most := client.ObjectKeyFromObject(job), time.Duration(ptr.Deref(job.Spec.ActiveDeadlineSeconds, 0))*time.Second
	if ptr.Deref(job.Status.Ready, 0) == 0 {
		return fmt.Sprintf("Job %s has no Pod that runs yet, and fails after %s: see kubectl --namespace %s describe job,pods --selector %s=%s",
			name, most, job.Namespace, batchv1.JobNameLabel, job.Name)
	}
	return fmt.Sprintf("Job %s is running, for %s at most", name, most)
}

// failureOf is the key of when the failure of a Job was seen.
type failureOf struct{ uid types.UID }

// failed says why a Job has, and has it run again when it is time.
func (e Evaluator) failed(
	ctx context.Context, as *account, gate infrav1.UpgradeGate, job *batchv1.Job, failure *batchv1.JobCondition,
) (string, error) {
	name := client.ObjectKeyFromObject(job)
	again := e.Observed.Look(failureOf{job.UID}, failure.Message, e.Now).Since.Add(time.Duration(gate.Job.RetryIntervalSeconds) * time.Second)
	if e.Now.Before(again) {
		return fmt.Sprintf("Job %s failed: %s%s; it is run again at %s", name, oneLine(failure.Message), tail(ctx, as, job), again.UTC().Format(time.RFC3339)), nil
	}
	if err := remove(ctx, as, job); err != nil {
		if apierrors.IsForbidden(err) {
			return fmt.Sprintf("running Job %s again is forbidden: %s", name, oneLine(err.Error())), nil
		}
		return "", err
	}
	return fmt.Sprintf("Job %s failed: %s; it is run again", name, oneLine(failure.Message)), nil
}

// start a Job. Those of the gate that were for something else are of no use any more.
func (e Evaluator) start(ctx context.Context, as *account, job *batchv1.Job) error {
	former := &batchv1.JobList{}
	if err := as.List(ctx, former, client.InNamespace(job.Namespace), client.MatchingLabels(job.Labels)); err != nil {
		return fmt.Errorf("listing the former Jobs of a gate: %w", err)
	}
	for i := range former.Items {
		if err := remove(ctx, as, &former.Items[i]); err != nil {
			return err
		}
	}
	if err := as.Create(ctx, job); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Job %s: %w", job.Name, err)
	}
	return nil
}

func remove(ctx context.Context, as *account, job *batchv1.Job) error {
	options := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &job.UID}}
	if err := as.Delete(ctx, job, options...); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting Job %s: %w", job.Name, err)
	}
	return nil
}

// job of a gate for a key. Its name is the same each time.
func (e Evaluator) job(gate infrav1.UpgradeGate, key string) *batchv1.Job {
	hash := sha256.Sum256([]byte(string(e.Upgrade.UID) + "/" + gate.Name + "/" + key))
	labels := map[string]string{infrav1.GateOfLabel: string(e.Upgrade.UID), infrav1.GateNameLabel: gate.Name}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: e.Upgrade.Spec.GateServiceAccount.Namespace, Name: gate.Name + "-" + hex.EncodeToString(hash[:6]), Labels: labels,
		},
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](0), ActiveDeadlineSeconds: ptr.To(int64(gate.Job.TimeoutSeconds)),
			TTLSecondsAfterFinished: ptr.To(gate.Job.RetryIntervalSeconds + keptSeconds),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       e.pod(*gate.Job),
			},
		},
	}
}

func (e Evaluator) pod(job infrav1.GateJob) corev1.PodSpec {
	env := []corev1.EnvVar{}
	for _, variable := range job.Env {
		env = append(env, corev1.EnvVar{Name: variable.Name, Value: variable.Value})
	}
	security := &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if job.RunAsUser != nil {
		security.RunAsUser, security.RunAsNonRoot = job.RunAsUser, ptr.To(*job.RunAsUser != 0)
	}
	return corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: e.Upgrade.Spec.GateServiceAccount.Name,
		AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false),
		Containers: []corev1.Container{{
			Name: containerName, Image: job.Image, Command: job.Command, Args: job.Args, Env: env,
			SecurityContext: security,
		}},
	}
}

// condition of a Job that is true; nil if it is not.
func condition(job *batchv1.Job, conditionType batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if found := &job.Status.Conditions[i]; found.Type == conditionType && found.Status == corev1.ConditionTrue {
			return found
		}
	}
	return nil
}
