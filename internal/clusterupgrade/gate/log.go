// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// containerName is that of the container of a Job.
	containerName = "gate"
	// logLines and logBytes are how much of a log is read.
	logLines, logBytes = 20, 16 << 10
)

// tail is the end of the log of a Job that has failed, as a part of a message; empty where there is none. Why it cannot be read is not what
// people look for.
func tail(ctx context.Context, as *account, job *batchv1.Job) string {
	pods := &corev1.PodList{}
	if err := as.List(ctx, pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}); err != nil {
		return "; its log cannot be read: " + oneLine(err.Error())
	}
	if len(pods.Items) == 0 {
		return ""
	}
	text, err := logOf(ctx, as, &pods.Items[0])
	if err != nil {
		return "; its log cannot be read: " + oneLine(err.Error())
	}
	if text = lastOf(text); text == "" {
		return "; its log is empty"
	}
	return "; the end of its log: " + text
}

func logOf(ctx context.Context, as *account, pod *corev1.Pod) (string, error) {
	direct, err := kubernetes.NewForConfig(as.config)
	if err != nil {
		return "", err
	}
	text, err := direct.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: containerName, TailLines: ptr.To[int64](logLines), LimitBytes: ptr.To[int64](logBytes),
	}).DoRaw(ctx)
	return string(text), err
}

// lastOf a text are its last characters, on one line.
func lastOf(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if of := []rune(text); len(of) > maxText {
		return "..." + string(of[len(of)-maxText:])
	}
	return text
}
