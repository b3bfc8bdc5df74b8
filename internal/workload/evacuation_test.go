// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// named is a resident of which only the name matters.
type named struct {
	workload.Nothing
	name string
}

func (n named) Name() string { return n.name }

var _ = Describe("Passes over residents", func() {
	type outcome struct {
		progress workload.Progress
		err      error
	}
	type walk = func(workload.Residents, func(workload.Resident) (workload.Progress, error)) (workload.Progress, error)
	done, failed := workload.Progress{Done: true}, errors.New("no answer")
	waiting := workload.Progress{Message: "waiting", Held: true, After: time.Minute}
	soon := workload.Progress{Message: "soon"}
	timed := workload.Progress{Message: "soon", After: 2 * time.Second}

	DescribeTable("come to", func(over walk, outcomes []outcome, visited []string, expected workload.Progress, fails bool) {
		residents, called := workload.Residents{}, []string{}
		byName := map[string]outcome{}
		for i, name := range []string{"first", "second", "third"} {
			residents, byName[name] = append(residents, named{name: name}), outcomes[i]
		}
		progress, err := over(residents, func(resident workload.Resident) (workload.Progress, error) {
			called = append(called, resident.Name())
			return byName[resident.Name()].progress, byName[resident.Name()].err
		})
		Expect(called).To(Equal(visited))
		Expect(errors.Is(err, failed)).To(Equal(fails))
		if !fails {
			Expect(progress).To(Equal(expected))
		}
	},
		Entry("the next once one is done", walk(workload.Residents.InTurn), []outcome{{done, nil}, {waiting, nil}, {done, nil}}, []string{"first", "second"}, waiting, false),
		Entry("no other after an error", walk(workload.Residents.InTurn), []outcome{{done, failed}, {done, nil}, {done, nil}}, []string{"first"}, done, true),
		Entry("all, and are done then", walk(workload.Residents.InTurn), []outcome{{done, nil}, {done, nil}, {done, nil}}, []string{"first", "second", "third"}, done, false),
		Entry("a time of their own where none is given", walk(workload.Residents.InTurn), []outcome{{soon, nil}, {done, nil}, {done, nil}}, []string{"first"}, timed, false),
		Entry("each, whatever another waits for", walk(workload.Residents.Each), []outcome{{waiting, nil}, {soon, nil}, {done, nil}}, []string{"first", "second", "third"}, waiting, false),
		Entry("each, whatever fails", walk(workload.Residents.Each), []outcome{{done, failed}, {waiting, nil}, {done, nil}}, []string{"first", "second", "third"}, done, true),
		Entry("each, with a time of their own where none is given", walk(workload.Residents.Each), []outcome{{done, nil}, {soon, nil}, {done, nil}}, []string{"first", "second", "third"}, timed, false),
	)
})
