// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"bytes"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/bench/benchmark"
)

// figure is a line of the table.
type figure struct {
	// Of is the subject of the figure.
	Of    string  `json:"of"`
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// AtMost or AtLeast is the target; neither is set if the figure only explains others.
	AtMost  *float64 `json:"atMost,omitempty"`
	AtLeast *float64 `json:"atLeast,omitempty"`
}

// result is the content of bin/bench/hostapi.json.
type result struct {
	size
	Processors int      `json:"processors"`
	Figures    []figure `json:"figures"`

	// of is the subject of the figures that are added.
	of string
}

// add adds a figure without a target.
func (r *result) add(name string, value float64, unit string) {
	r.Figures = append(r.Figures, figure{Of: r.of, Name: name, Value: value, Unit: unit})
}

func (r *result) addAtMost(name string, value, most float64, unit string) {
	r.Figures = append(r.Figures, figure{Of: r.of, Name: name, Value: value, Unit: unit, AtMost: &most})
}

func (r *result) addAtLeast(name string, value, least float64, unit string) {
	r.Figures = append(r.Figures, figure{Of: r.of, Name: name, Value: value, Unit: unit, AtLeast: &least})
}

func (f figure) aim() (aim, met string) {
	var isMet bool
	switch {
	case f.AtMost != nil:
		aim, isMet = "<= "+short(*f.AtMost), f.Value <= *f.AtMost
	case f.AtLeast != nil:
		aim, isMet = ">= "+short(*f.AtLeast), f.Value >= *f.AtLeast
	default:
		return "", ""
	}
	if !isMet {
		return aim, "MISSED"
	}
	return aim, "met"
}

// table is the human-readable table.
func (r *result) table() string {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%d hosts: %s. %d processors, which hosts, etcd and kube-apiserver share.\n\n", r.Hosts, r.Reason, r.Processors)
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "Figure\tMeasured\t\tAim\t")
	of := ""
	for _, one := range r.Figures {
		if one.Of != of {
			of = one.Of
			fmt.Fprintf(columns, "%s\t\t\t\t\n", of)
		}
		aim, met := one.aim()
		fmt.Fprintf(columns, "  %s\t%s\t%s\t%s\t%s\n", one.Name, short(one.Value), one.Unit, aim, met)
	}
	_ = columns.Flush() // writes to a bytes.Buffer do not fail
	return text.String()
}

// report prints the table, and stores it.
func (r *result) report() {
	GinkgoHelper()
	AddReportEntry(r.table(), ReportEntryVisibilityAlways)
	benchmark.Write("hostapi", r)
}

// short formats with three significant digits, or all digits before the decimal point.
func short(value float64) string {
	if value >= 100 || value == 0 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mebibytes(bytes uint64) float64 { return float64(bytes) / (1 << 20) }
