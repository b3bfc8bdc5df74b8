// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

const (
	// replenishmentSetting is how many seconds Longhorn waits for a failed replica to come back before it makes a new
	// one elsewhere, and copies all of its data over the network.
	replenishmentSetting = "replica-replenishment-wait-interval"
	// replenishmentWait is its value while nodes are down, in seconds: longer than a reboot with an upgrade takes.
	// Source: Harvester's upgrade sets the same for its nodes.
	replenishmentWait = 1800
)

// record is what ReplenishmentAnnotation holds.
type record struct {
	// Saved is the value before the first of the attempts.
	Saved string `json:"saved"`
	// Set is the value that it was given. If the setting has another by now, a person has changed it.
	Set string `json:"set"`
	// Attempts whose nodes are down, sorted.
	Attempts []string `json:"attempts"`
}

// HoldReplenishment keeps Longhorn from making new replicas elsewhere while the attempt's node is down. The setting's
// former value is recorded beside it, in the same write. A setting that is as long already, or that Longhorn does not
// have, is left alone, and so is one that a person has changed since the first of several attempts held it.
func HoldReplenishment(ctx context.Context, c client.Client, attempt string) error {
	return changeReplenishment(ctx, c, func(setting *unstructured.Unstructured, held *record) (*record, error) {
		if held != nil {
			if !slices.Contains(held.Attempts, attempt) {
				held.Attempts = append(held.Attempts, attempt)
			}
			return held, nil
		}
		value := valueOf(setting)
		if seconds, err := strconv.Atoi(value); err != nil || seconds >= replenishmentWait {
			return nil, nil
		}
		held = &record{Saved: value, Set: strconv.Itoa(replenishmentWait), Attempts: []string{attempt}}
		setting.Object["value"] = held.Set
		return held, nil
	})
}

// ReleaseReplenishment takes the attempt's hold back. The last one restores the value that was recorded, unless a person
// has set another meanwhile. Holds of attempts that are not living any more, which were force-deleted, count for
// nothing; living is asked only if there are others.
func ReleaseReplenishment(ctx context.Context, c client.Client, attempt string, living func(context.Context) ([]string, error)) error {
	return changeReplenishment(ctx, c, func(setting *unstructured.Unstructured, held *record) (*record, error) {
		if held == nil {
			return nil, nil
		}
		held.Attempts = slices.DeleteFunc(held.Attempts, func(holder string) bool { return holder == attempt })
		if len(held.Attempts) > 0 {
			alive, err := living(ctx)
			if err != nil {
				return nil, err
			}
			held.Attempts = slices.DeleteFunc(held.Attempts, func(holder string) bool { return !slices.Contains(alive, holder) })
		}
		if len(held.Attempts) > 0 {
			return held, nil
		}
		if valueOf(setting) == held.Set {
			setting.Object["value"] = held.Saved
		}
		return nil, nil
	})
}

// changeReplenishment reads the setting and its record, and writes what the change makes of both, if that is anything
// new. A write of somebody else in between has it begin again.
func changeReplenishment(ctx context.Context, c client.Client, change func(*unstructured.Unstructured, *record) (*record, error)) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		setting, err := readReplenishment(ctx, c)
		if err != nil || setting == nil {
			return err
		}
		held, err := recordOf(setting)
		if err != nil {
			return err
		}
		before := setting.DeepCopy()
		if held, err = change(setting, held); err != nil {
			return err
		}
		if err := setRecord(setting, held); err != nil {
			return err
		}
		if before.GetAnnotations()[infrav1.ReplenishmentAnnotation] == setting.GetAnnotations()[infrav1.ReplenishmentAnnotation] {
			return nil // nor is the value another one
		}
		return c.Patch(ctx, setting, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return fmt.Errorf("changing Longhorn's Setting %s: %w", replenishmentSetting, err)
	}
	return nil
}

// readReplenishment returns nil if there is no such setting.
func readReplenishment(ctx context.Context, c client.Client) (*unstructured.Unstructured, error) {
	settings, _, err := workload.Objects(ctx, workload.Asking{Client: c}, schema.GroupKind{Group: Group, Kind: "Setting"},
		client.MatchingFields{"metadata.name": replenishmentSetting})
	if err != nil || len(settings) == 0 {
		return nil, err
	}
	return &settings[0], nil
}

// valueOf a Setting, which has it beside its metadata.
func valueOf(setting *unstructured.Unstructured) string {
	value, _, _ := unstructured.NestedString(setting.Object, "value")
	return value
}

// recordOf returns nil if no attempt holds the setting.
func recordOf(setting *unstructured.Unstructured) (*record, error) {
	text, found := setting.GetAnnotations()[infrav1.ReplenishmentAnnotation]
	if !found {
		return nil, nil
	}
	held := &record{}
	if err := json.Unmarshal([]byte(text), held); err != nil {
		return nil, fmt.Errorf("annotation %s is not as it was written, %q: set value as it is to be and remove the annotation: %w",
			infrav1.ReplenishmentAnnotation, text, err)
	}
	return held, nil
}

func setRecord(setting *unstructured.Unstructured, held *record) error {
	annotations := setting.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, infrav1.ReplenishmentAnnotation)
	if held != nil {
		slices.Sort(held.Attempts)
		text, err := json.Marshal(held)
		if err != nil {
			return err
		}
		annotations[infrav1.ReplenishmentAnnotation] = string(text)
	}
	setting.SetAnnotations(annotations)
	return nil
}
