// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// checksOf truncates a host's checks to their bounds, and drops those without a unique name. They are for people only, and must not be the
// reason to refuse a report, because the attempt would then never end.
func checksOf(said []wire.Check) []infrav1.HostCheck {
	var checks []infrav1.HostCheck
	for _, one := range said {
		if len(checks) == wire.MaxChecks {
			break
		}
		check := infrav1.HostCheck{
			Name:     shorten(plain(one.Name), wire.MaxCheckName),
			Verdict:  infrav1.HostCheckVerdict(shorten(plain(one.Verdict), wire.MaxCheckVerdict)),
			Since:    since(one.Since),
			ExitCode: one.ExitCode,
			Output:   shorten(plain(one.Output), wire.MaxCheckOutput),
		}
		isKnown := slices.ContainsFunc(checks, func(known infrav1.HostCheck) bool { return known.Name == check.Name })
		if check.Name != "" && !isKnown {
			checks = append(checks, check)
		}
	}
	return checks
}

// since converts a time to whole seconds; zero for a year that does not have four digits, which cannot be encoded.
func since(at time.Time) metav1.Time {
	at = at.UTC().Truncate(time.Second)
	if year := at.Year(); year < 1 || year > 9999 {
		return metav1.Time{}
	}
	return metav1.NewTime(at)
}
