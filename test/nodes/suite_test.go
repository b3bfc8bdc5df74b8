// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"maps"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/nspawn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// assessmentTimeout is what a bad image takes whose kubelet or network does not start.
	assessmentTimeout = 90 * time.Second
	// Images of Pods.
	webImage = "registry.example.com/web:1"
	// stubbornImage ignores SIGTERM.
	stubbornImage = "localhost/stubborn:1"
	// recorderImage notes its starts and ends in /record.
	recorderImage = "localhost/recorder:1"
)

var (
	theLab *lab.Lab
	setup  *nspawn.Setup
)

func TestNodes(t *testing.T) {
	specs.Run(t, "Nodes")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	if missing := nspawn.MissingForHosts(); missing != "" {
		Skip("the suite on real nodes is skipped: " + missing)
	}
	osimage.LockCLI()
	setup = nspawn.New(nspawn.Options{Images: images(), Hosts: true})
	theLab = suite.StartLab(ctx, lab.Options{WithoutKwok: true})
	setup.Connect(theLab.Registry, theLab.Workload.Port(), nspawn.PortOf(theLab.ElementalAPI()))
	completeInit(theLab.Workload)
	startCluster(ctx)
})

// images of Pods; those of a control plane where one is made.
func images() map[string]nspawn.Program {
	GinkgoHelper()
	found := map[string]nspawn.Program{}
	for name, command := range map[string][]string{
		nspawn.PauseImage: nil, webImage: nil, stubbornImage: {"/pod", "stubborn"}, recorderImage: {"/pod", "record", "/record/file"},
	} {
		found[name] = nspawn.Program{From: "lab/pod", As: "/pod", Command: command}
	}
	if !isShort() {
		maps.Copy(found, nspawn.ControlPlaneImages("../../bin/tools/kubeadm"))
	}
	return found
}
