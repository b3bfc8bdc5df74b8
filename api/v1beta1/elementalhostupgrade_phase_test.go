// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

func TestPhaseIsAnEndOrActiveOrThatOfALostHost(t *testing.T) {
	for phase, expected := range map[infrav1.UpgradePhase]struct{ end, active bool }{
		"":                         {active: true},
		infrav1.UpgradePending:     {active: true},
		infrav1.UpgradeProgressing: {active: true},
		infrav1.UpgradeHostLost:    {},
		infrav1.UpgradeSucceeded:   {end: true},
		infrav1.UpgradeRolledBack:  {end: true},
		infrav1.UpgradeFailed:      {end: true},
		infrav1.UpgradeSuperseded:  {end: true},
		infrav1.UpgradeAborted:     {end: true},
	} {
		if phase.IsEnd() != expected.end || phase.IsActive() != expected.active {
			t.Errorf("phase %q: end %v, active %v", phase, phase.IsEnd(), phase.IsActive())
		}
	}
}

func TestPosition(t *testing.T) {
	for expected, status := range map[string]infrav1.ElementalHostUpgradeStatus{
		"":             {},
		"Drain (7/14)": {Step: "Drain", StepIndex: 7, StepCount: 14},
	} {
		if got := status.Position(); got != expected {
			t.Errorf("position %q instead of %q", got, expected)
		}
	}
}

func TestOldestFirst(t *testing.T) {
	made := func(name string, second int64) *infrav1.ElementalHostUpgrade {
		return &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Time{Time: time.Unix(second, 0)}}}
	}
	for _, pair := range [][2]*infrav1.ElementalHostUpgrade{{made("b", 1), made("a", 2)}, {made("a", 1), made("b", 1)}} {
		if infrav1.OldestFirst(pair[0], pair[1]) >= 0 || infrav1.OldestFirst(pair[1], pair[0]) <= 0 {
			t.Errorf("%s is not older than %s", pair[0].Name, pair[1].Name)
		}
	}
	if infrav1.OldestFirst(made("a", 1), made("a", 1)) != 0 {
		t.Error("an attempt is older than itself")
	}
}

func TestOldestFirstAfterAMove(t *testing.T) {
	moved := func(name, created string) *infrav1.ElementalHostUpgrade {
		return &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{
			Name: name, CreationTimestamp: metav1.Now(), Annotations: map[string]string{infrav1.CreatedAnnotation: created},
		}}
	}
	if infrav1.OldestFirst(moved("b", "2026-01-01T10:00:00Z"), moved("a", "2026-01-01T10:00:01Z")) >= 0 {
		t.Error("a move has changed the order")
	}
	if at := moved("a", "whenever").CreatedAt(); time.Since(at) > time.Minute {
		t.Errorf("a time that cannot be read is %s", at)
	}
}

func TestPhaseNow(t *testing.T) {
	for _, test := range []struct{ phase, ended, expected string }{
		{"", "", ""},
		{"Progressing", "", "Progressing"},
		{"", "Succeeded", "Succeeded"},
		{"", "RolledBack/FormerOSNotGood", "RolledBack"},
		{"Failed", "Succeeded", "Failed"},
		{"", "Progressing", ""},
		{"", "nonsense", ""},
	} {
		upgrade := &infrav1.ElementalHostUpgrade{Status: infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradePhase(test.phase)}}
		if test.ended != "" {
			upgrade.Annotations = map[string]string{infrav1.EndedAnnotation: test.ended}
		}
		if now := upgrade.PhaseNow(); string(now) != test.expected {
			t.Errorf("phase %q, ended %q: %q instead of %q", test.phase, test.ended, now, test.expected)
		}
	}
}
