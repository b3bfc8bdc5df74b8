// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
)

// hookName is the name of the gate's webhook, and the prefix of its audit annotations.
const hookName = "gate.lab.elemental"

// stored matches the resources whose writes are effects of a user: no Events and Leases, which are written
// continuously, and no reviews, which are queries.
const stored = `!(request.resource.resource in ["events", "leases"]) &&
	!(request.resource.group in ["authentication.k8s.io", "authorization.k8s.io"])`

// Guard makes the API server of a cluster call the gate before it stores a write of the user. It returns once the API
// server has observed the webhook configuration, which takes it a moment.
func (g *Gate) Guard(ctx context.Context, name string, cluster *kube.Cluster, in client.Client, user string) error {
	g.guarded["/"+name] = guarded{name: name, auditLog: cluster.AuditLog()}
	scope := admissionregistrationv1.AllScopes
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: hookName},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: hookName,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: ptr.To("https://" + g.address + "/" + name), CABundle: g.authority.CertPEM,
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{
					admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete,
				},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}, Scope: &scope,
				},
			}},
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "user", Expression: fmt.Sprintf("request.userInfo.username == %q", user)},
				{Name: "stored", Expression: stored},
			},
			// A write that the gate has not seen must not be stored, nor one whose client is gone before the verdict.
			FailurePolicy:           ptr.To(admissionregistrationv1.Fail),
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To(int32(Patience / time.Second)),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	if err := in.Create(ctx, config); err != nil {
		return fmt.Errorf("guarding the %s cluster: %w", name, err)
	}
	return nil
}
