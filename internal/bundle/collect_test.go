// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts/attemptstest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// planted is what must not be in a bundle.
const planted = "hunter2"

// unpack returns the contents of the files of a bundle, by their names.
func unpack(written []byte) map[string]string {
	GinkgoHelper()
	compressed, err := gzip.NewReader(bytes.NewReader(written))
	Expect(err).NotTo(HaveOccurred())
	files, found := tar.NewReader(compressed), map[string]string{}
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		Expect(err).NotTo(HaveOccurred())
		content, err := io.ReadAll(files)
		Expect(err).NotTo(HaveOccurred())
		found[header.Name] = string(content)
	}
}

// plant makes objects of Clusters edge and other, with credentials in them.
func plant(ctx context.Context) (namespace string) {
	GinkgoHelper()
	space := server.NewNamespace(ctx)
	named := func(name, cluster string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: space, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster},
			Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": planted},
		}
	}
	attempt := attemptstest.New(space, "attempt", "edge", "host", "oci://user:"+planted+"@registry.example.com/os:v1")
	attempt.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": planted}
	attempt.Spec.OSVersionManagement.Plugins = map[string]runtime.RawExtension{"plugin": {Raw: []byte(`{"cloudInit":"` + planted + `"}`)}}
	for _, object := range []client.Object{
		&clusterv1.Cluster{ObjectMeta: named("edge", "edge"), Spec: clusterv1.ClusterSpec{
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "edge.example.com", Port: 6443},
		}},
		&infrav1.ElementalCluster{ObjectMeta: named("edge", "edge")},
		&infrav1.ElementalCluster{ObjectMeta: named("other", "other")},
		&infrav1.ElementalHost{ObjectMeta: named("host", "edge")},
		&infrav1.ElementalHost{ObjectMeta: named("stranger", "other")},
		&corev1.Secret{ObjectMeta: named("edge-kubeconfig", "edge"), StringData: map[string]string{"value": planted}},
		attempt,
		ownertest.Rollout(ownertest.Template(space, "pool", "oci://registry.example.com/os:v1"), "edge"),
		event(space, "mine", "host"), event(space, "others", "stranger"),
	} {
		Expect(live.Create(ctx, object)).To(Succeed())
	}
	return space
}

// event of a host, whose note has a credential.
func event(namespace, name, host string) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, EventTime: metav1.NowMicro(), Type: corev1.EventTypeNormal,
		ReportingController: "test", ReportingInstance: "test", Action: "Test", Reason: "Test", Note: "password=" + planted,
		Regarding: corev1.ObjectReference{APIVersion: infrav1.GroupVersion.String(), Kind: "ElementalHost", Namespace: namespace, Name: host},
	}
}

var _ = Describe("Write", func() {
	It("writes what is of the Cluster, the same bytes each time, and no credential", func(ctx SpecContext) {
		namespace := plant(ctx)
		log := filepath.Join(GinkgoT().TempDir(), "manager.log")
		Expect(os.WriteFile(log, []byte(strings.Join([]string{
			`I1 "Reconciling" ElementalHost="` + namespace + `/host" token=` + planted,
			`I2 "Reconciling" ElementalHost="elsewhere/host"`,
			`I3 "Reconciling" ElementalHost="` + namespace + `/stranger"`,
			`I4 "Reconciling" ElementalCluster="` + namespace + `/other"`,
		}, "\n")), 0o600)).To(Succeed())
		options := Options{Client: live, Namespace: namespace, Cluster: "edge", LogFile: log}
		first, second := &bytes.Buffer{}, &bytes.Buffer{}
		Expect(Write(ctx, first, options)).To(Succeed())
		Expect(Write(ctx, second, options)).To(Succeed())
		Expect(first.Bytes()).To(Equal(second.Bytes()))

		files := unpack(first.Bytes())
		names := []string{}
		for name, content := range files {
			names = append(names, name)
			Expect(content).NotTo(ContainSubstring(planted), name)
		}
		Expect(names).To(ConsistOf("events.yaml", "logs/manager.log", "objects/Cluster/edge.yaml", "objects/ElementalCluster/edge.yaml",
			"objects/ElementalCluster/other.yaml", "objects/ElementalHost/host.yaml", "objects/ElementalHostUpgrade/attempt.yaml", "objects/ElementalRollout/pool.yaml"))
		Expect(files["events.yaml"]).To(And(ContainSubstring("name: mine"), Not(ContainSubstring("name: others"))))
		Expect(files["logs/manager.log"]).To(And(HavePrefix("I1 "), Not(ContainSubstring("I2 ")), Not(ContainSubstring("I3 ")), Not(ContainSubstring("I4 "))))
		Expect(files["objects/ElementalHostUpgrade/attempt.yaml"]).To(ContainSubstring("ociREMOVEDregistry.example.com/os:v1"))
	})

	It("lists what it has not found, and writes the rest", func(ctx SpecContext) {
		written := &bytes.Buffer{}
		Expect(Write(ctx, written, Options{Client: live, Namespace: plant(ctx), Cluster: "absent", LogFile: "/nowhere/manager.log"})).To(Succeed())
		files := unpack(written.Bytes())
		Expect(files).To(HaveKey("objects/ElementalCluster/edge.yaml"))
		Expect(files["errors.txt"]).To(And(ContainSubstring("has none of the name absent"), ContainSubstring("/nowhere/manager.log")))
	})

	It("names the managers' Pods whose log cannot be read, and says where there are none", func(ctx SpecContext) {
		pods, err := kubernetes.NewForConfig(server.Config)
		Expect(err).NotTo(HaveOccurred())
		options := Options{Client: live, Pods: pods, Namespace: plant(ctx), Cluster: "edge", Since: time.Hour}
		options.ManagerNamespace = options.Namespace
		written := &bytes.Buffer{}
		Expect(Write(ctx, written, options)).To(Succeed())
		Expect(unpack(written.Bytes())["errors.txt"]).To(ContainSubstring("name its log by --log-file"))

		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: options.Namespace, Name: "manager-0", Labels: map[string]string{
			"cluster.x-k8s.io/provider": "infrastructure-elemental", "control-plane": "controller-manager",
		}}}
		pod.Spec.Containers, pod.Spec.NodeName = []corev1.Container{{Name: "manager", Image: "manager"}}, "gone"
		Expect(live.Create(ctx, pod)).To(Succeed())
		written.Reset()
		Expect(Write(ctx, written, options)).To(Succeed())
		Expect(unpack(written.Bytes())["errors.txt"]).To(HavePrefix("logs/" + options.Namespace + "/manager-0/manager.log: "))
	})

	It("keeps the end of a long log", func() {
		c := &collector{options: Options{Namespace: "ns"}, archive: newArchive(), names: map[string]bool{"edge": true}}
		line := `"ns/edge" ` + strings.Repeat("x", 1000) + "\n"
		c.addLog("log", strings.NewReader(strings.Repeat(line, 3*maxLog/len(line))+`"ns/edge" last`))
		Expect(len(c.archive.files["log"])).To(And(BeNumerically("<=", maxLog), BeNumerically(">", maxLog/2)))
		Expect(string(c.archive.files["log"])).To(And(HavePrefix(`"ns/edge" x`), HaveSuffix("last\n")))
	})
})
