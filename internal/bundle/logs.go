// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/redact"
)

const (
	// maxLine is how long a line of a log may be; what follows one that is longer is not read.
	maxLine = 1 << 20
	// maxLog is how much is kept of each log, in bytes: the end of it.
	maxLog = 8 << 20
	// providerLabels are those of the manager's Pods.
	providerLabels = "cluster.x-k8s.io/provider=infrastructure-elemental,control-plane=controller-manager"
)

// addLogs adds the lines of the managers' logs that name what the bundle has.
func (c *collector) addLogs(ctx context.Context) {
	if c.options.LogFile != "" {
		c.addLogFile(c.options.LogFile)
		return
	}
	pods, err := c.options.Pods.CoreV1().Pods(c.options.ManagerNamespace).List(ctx, metav1.ListOptions{LabelSelector: providerLabels})
	if err != nil {
		c.archive.fail("the manager's Pods", err)
		return
	}
	if len(pods.Items) == 0 {
		c.archive.fail("the manager's Pods", fmt.Errorf("none has the labels %s: name its log by --log-file", providerLabels))
	}
	for i := range pods.Items {
		for _, container := range pods.Items[i].Spec.Containers {
			c.addPodLog(ctx, &pods.Items[i], container.Name)
		}
	}
}

func (c *collector) addPodLog(ctx context.Context, pod *corev1.Pod, container string) {
	name := fmt.Sprintf("logs/%s/%s/%s.log", pod.Namespace, pod.Name, container)
	log, err := c.options.Pods.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Timestamps: true, SinceSeconds: ptr.To(int64(c.options.Since.Seconds())),
	}).Stream(ctx)
	if err != nil {
		c.archive.fail(name, err)
		return
	}
	defer func() { _ = log.Close() }()
	c.addLog(name, log)
}

func (c *collector) addLogFile(path string) {
	name := "logs/" + filepath.Base(path)
	log, err := os.Open(filepath.Clean(path))
	if err != nil {
		c.archive.fail(name, err)
		return
	}
	defer func() { _ = log.Close() }()
	c.addLog(name, log)
}

// addLog adds the last maxLog bytes of the lines that are of the Cluster.
func (c *collector) addLog(name string, log io.Reader) {
	kept := &bytes.Buffer{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if c.isOfCluster(lines.Text()) {
			kept.WriteString(redact.Text(lines.Text()) + "\n")
		}
		if excess := kept.Len() - 2*maxLog; excess > 0 {
			kept.Next(maxLog + excess)
		}
	}
	if err := lines.Err(); err != nil {
		c.archive.fail(name, err)
	}
	c.archive.files[name] = tail(kept.Bytes())
}

// tail is the last maxLog bytes, in whole lines.
func tail(log []byte) []byte {
	if len(log) <= maxLog {
		return log
	}
	log = log[len(log)-maxLog:]
	return log[bytes.IndexByte(log, '\n')+1:]
}

// isOfCluster reports whether a line names the namespace and an object that the bundle has.
func (c *collector) isOfCluster(line string) bool {
	isInNamespace, isOfObject := false, false
	for _, word := range strings.FieldsFunc(line, isNoPartOfName) {
		isInNamespace = isInNamespace || word == c.options.Namespace
		isOfObject = isOfObject || c.names[word]
	}
	return isInNamespace && isOfObject
}

func isNoPartOfName(r rune) bool {
	return r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
}
