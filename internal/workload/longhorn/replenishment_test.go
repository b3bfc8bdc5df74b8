// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/storage"
)

var _ = Describe("The wait before replicas are made elsewhere", Ordered, func() {
	var (
		stored *storage.Longhorn
		alive  []string
	)

	living := func(context.Context) ([]string, error) { return alive, nil }
	hold := func(ctx context.Context, attempt string) {
		GinkgoHelper()
		Expect(longhorn.HoldReplenishment(ctx, server.Client, attempt)).To(Succeed())
	}
	release := func(ctx context.Context, attempt string) {
		GinkgoHelper()
		Expect(longhorn.ReleaseReplenishment(ctx, server.Client, attempt, living)).To(Succeed())
	}
	expect := func(ctx context.Context, wanted string, held bool) {
		GinkgoHelper()
		value, annotations, err := stored.Replenishment(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(value).To(Equal(wanted))
		if held {
			Expect(annotations).To(HaveKey(infrav1.ReplenishmentAnnotation))
			return
		}
		Expect(annotations).NotTo(HaveKey(infrav1.ReplenishmentAnnotation))
	}

	BeforeAll(func(ctx SpecContext) {
		var err error
		stored, err = storage.NewLonghorn(ctx, server.Client, clocktesting.NewFakePassiveClock(went))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) error { return storage.Uninstall(ctx, server.Client) })
	})

	BeforeEach(func(ctx SpecContext) {
		alive = []string{"a/1", "b/2"}
		Expect(stored.Change(ctx, storage.Setting, storage.ReplenishmentSetting, func(setting *unstructured.Unstructured) {
			setting.SetAnnotations(nil)
			setting.Object["value"] = storage.DefaultReplenishment
		})).To(Succeed())
	})

	It("is saved, set and restored", func(ctx SpecContext) {
		Expect(stored.SetReplenishment(ctx, "300")).To(Succeed())
		hold(ctx, "a/1")
		expect(ctx, "1800", true)
		_, annotations, err := stored.Replenishment(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(annotations[infrav1.ReplenishmentAnnotation]).To(MatchJSON(`{"saved":"300","set":"1800","attempts":["a/1"]}`))
		hold(ctx, "a/1") // as after a restart
		release(ctx, "a/1")
		expect(ctx, "300", false)
		release(ctx, "a/1")
		expect(ctx, "300", false)
	})

	It("is restored by the last of several attempts", func(ctx SpecContext) {
		hold(ctx, "b/2")
		hold(ctx, "a/1")
		release(ctx, "b/2")
		expect(ctx, "1800", true)
		release(ctx, "a/1")
		expect(ctx, "600", false)
	})

	It("does not wait for attempts that were force-deleted", func(ctx SpecContext) {
		hold(ctx, "gone/3")
		hold(ctx, "a/1")
		release(ctx, "a/1")
		expect(ctx, "600", false)
	})

	It("is not restored while it is not known which attempts are left", func(ctx SpecContext) {
		hold(ctx, "a/1")
		hold(ctx, "b/2")
		unknown := func(context.Context) ([]string, error) { return nil, errors.New("no answer") }
		Expect(longhorn.ReleaseReplenishment(ctx, server.Client, "a/1", unknown)).To(MatchError(ContainSubstring("no answer")))
		expect(ctx, "1800", true)
		release(ctx, "a/1")
		Expect(longhorn.ReleaseReplenishment(ctx, server.Client, "b/2", unknown)).To(Succeed(), "there are no others")
		expect(ctx, "600", false)
	})

	It("stays as a person has set it in between", func(ctx SpecContext) {
		hold(ctx, "a/1")
		Expect(stored.SetReplenishment(ctx, "900")).To(Succeed())
		hold(ctx, "a/1")
		hold(ctx, "b/2")
		expect(ctx, "900", true)
		release(ctx, "a/1")
		release(ctx, "b/2")
		expect(ctx, "900", false)
	})

	DescribeTable("is left alone", func(ctx SpecContext, value string) {
		Expect(stored.SetReplenishment(ctx, value)).To(Succeed())
		hold(ctx, "a/1")
		expect(ctx, value, false)
		release(ctx, "a/1")
		expect(ctx, value, false)
	},
		Entry("where it is as long", "1800"),
		Entry("where it is longer", "7200"),
		Entry("where it is no number of seconds", `{"v1":"600"}`),
	)

	It("is set where Longhorn does not wait at all", func(ctx SpecContext) {
		Expect(stored.SetReplenishment(ctx, "0")).To(Succeed())
		hold(ctx, "a/1")
		expect(ctx, "1800", true)
		release(ctx, "a/1")
		expect(ctx, "0", false)
	})

	It("says what to do with a record that somebody has spoiled", func(ctx SpecContext) {
		Expect(stored.Change(ctx, storage.Setting, storage.ReplenishmentSetting, func(setting *unstructured.Unstructured) {
			setting.SetAnnotations(map[string]string{infrav1.ReplenishmentAnnotation: "600"})
		})).To(Succeed())
		Expect(longhorn.HoldReplenishment(ctx, server.Client, "a/1")).To(MatchError(ContainSubstring("remove the annotation")))
	})

	It("may be missing", func(ctx SpecContext) {
		Expect(server.Client.Delete(ctx, storage.New(storage.Setting, storage.Namespace, storage.ReplenishmentSetting, nil))).To(Succeed())
		hold(ctx, "a/1")
		release(ctx, "a/1")
	})
})
