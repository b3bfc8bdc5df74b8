// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/utils/ptr"
)

const (
	// verbUpdate is the verb of a write that has both an old and a new object.
	verbUpdate = "update"
	// evictions are created, but never stored.
	evictions = "pods/eviction"
)

// Write that an API server is about to store.
type Write struct {
	// Cluster is the name that was given to Guard.
	Cluster string
	// User who writes.
	User string
	// Verb is create, update (which includes patch) or delete.
	Verb string
	// Resource with its subresource, such as elementalhosts/status.
	Resource        string
	Namespace, Name string
	// Old is the stored object, New the one to be stored. Old is nil in a create, New in a delete.
	Old, New map[string]any
	// Trial reports whether it is a dry run, which stores nothing.
	Trial bool

	// Seen is when the API server called the webhook.
	Seen time.Time

	id  string
	log string
	// offset of the audit log's end when the write was seen.
	offset int64
}

func newWrite(request *admissionv1.AdmissionRequest) (*Write, error) {
	w := &Write{
		User: request.UserInfo.Username, Verb: strings.ToLower(string(request.Operation)),
		Resource:  path.Join(request.Resource.Resource, request.SubResource),
		Namespace: request.Namespace, Name: request.Name, Seen: time.Now(), id: string(request.UID),
	}
	for target, raw := range map[*map[string]any][]byte{&w.Old: request.OldObject.Raw, &w.New: request.Object.Raw} {
		if len(raw) == 0 {
			continue
		}
		if err := json.Unmarshal(raw, target); err != nil {
			return nil, fmt.Errorf("decoding the object of a %s of %s %s: %w", w.Verb, w.Resource, w.Name, err)
		}
	}
	w.Trial = ptr.Deref(request.DryRun, false) || w.isTrialEviction()
	return w, nil
}

// isTrialEviction reports whether it is an eviction with dryRun in its own delete options. The API server evaluates
// those only after admission.
func (w *Write) isTrialEviction() bool {
	options, _ := w.New["deleteOptions"].(map[string]any)
	dryRun, _ := options["dryRun"].([]any)
	return w.Resource == evictions && len(dryRun) > 0
}

// Writer is the field manager of a write: the program, where several share a user. It is empty where the API server
// does not record one.
func (w *Write) Writer() string {
	before, latest := map[string]manager{}, manager{}
	for _, entry := range managers(w.Old) {
		before[entry.key] = entry
	}
	for _, entry := range managers(w.New) {
		// Other managers may lose the fields that are written, but keep their timestamps.
		if entry != before[entry.key] && entry.at >= latest.at {
			latest = entry
		}
	}
	return latest.name
}

// manager is an entry of managedFields.
type manager struct{ key, name, at, fields string }

func managers(object map[string]any) []manager {
	meta, _ := object["metadata"].(map[string]any)
	recorded, _ := meta["managedFields"].([]any)
	all := make([]manager, 0, len(recorded))
	for _, each := range recorded {
		entry, _ := each.(map[string]any)
		name, _ := entry["manager"].(string)
		at, _ := entry["time"].(string)
		all = append(all, manager{
			key:  fmt.Sprint(name, entry["operation"], entry["apiVersion"], entry["subresource"]),
			name: name, at: at, fields: fmt.Sprint(entry["fieldsV1"]),
		})
	}
	return all
}
