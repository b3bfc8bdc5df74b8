// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// connector connects to the API server of the suite, or fails.
type connector struct{ err error }

func (c connector) Connect(context.Context, client.ObjectKey) (*workload.Cluster, error) {
	return workload.New(server.Client, server.Client).WithConfig(server.Config), c.err
}

var _ = Describe("The gates of an upgrade", func() {
	var (
		evaluator Evaluator
		namespace string
	)
	const name = "gates"

	BeforeEach(func(ctx SpecContext) {
		namespace = server.NewNamespace(ctx)
		Expect(server.Client.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Annotations: map[string]string{infrav1.GatesAnnotation: infrav1.GatesAllowed},
		}})).To(Succeed())
		upgrade := &infrav1.ElementalClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "u", UID: types.UID(namespace)}}
		upgrade.Spec.ClusterName = "c"
		upgrade.Spec.GateServiceAccount = &infrav1.GateServiceAccount{Namespace: namespace, Name: name}
		evaluator = Evaluator{Workload: connector{}, Upgrade: upgrade, Now: time.Now(), Observed: &observed.Changes{}}
	})

	// grant the ServiceAccount rights in its namespace, and wait until the API server knows.
	grant := func(ctx context.Context, rules ...rbacv1.PolicyRule) {
		GinkgoHelper()
		Expect(server.Client.Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Rules: rules})).To(Succeed())
		Expect(server.Client.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
		})).To(Succeed())
	}
	// object is a gate with one.
	object := func(expression string, of infrav1.GateObject) infrav1.UpgradeGate {
		return infrav1.UpgradeGate{Name: "health", Object: &of, Expression: expression}
	}
	configMap := func(name string) infrav1.GateObject {
		return infrav1.GateObject{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: name}
	}
	// closed is why the one gate is closed.
	closed := func(ctx context.Context, gate infrav1.UpgradeGate) string {
		GinkgoHelper()
		evaluator.Upgrade.Spec.Gates = []infrav1.UpgradeGate{gate}
		verdicts, err := evaluator.All(ctx, "key")
		Expect(err).NotTo(HaveOccurred())
		Expect(verdicts).To(HaveLen(1))
		return verdicts[0].Closed
	}
	readsConfigMaps := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}}

	It("with an object are evaluated by the rights of the ServiceAccount", func(ctx SpecContext) {
		state := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "state"}, Data: map[string]string{"health": "bad"}}
		Expect(server.Client.Create(ctx, state)).To(Succeed())
		healthy := object("self.data.health == 'good'", configMap("state"))
		Expect(closed(ctx, healthy)).To(Equal("reading ConfigMap " + namespace + "/state is forbidden: grant ServiceAccount " + namespace + "/gates verb get"))
		grant(ctx, readsConfigMaps)
		Eventually(func() string { return closed(ctx, healthy) }).Should(Equal("the expression is false of ConfigMap " + namespace + "/state"))
		state.Data["health"] = "good"
		Expect(server.Client.Update(ctx, state)).To(Succeed())
		Expect(closed(ctx, healthy)).To(BeEmpty())

		By("reading what is not there")
		Expect(closed(ctx, object("true", configMap("absent")))).To(Equal("ConfigMap " + namespace + "/absent does not exist"))
		Expect(closed(ctx, object("true", infrav1.GateObject{APIVersion: "ceph.rook.io/v1", Kind: "CephCluster", Namespace: namespace, Name: "c"}))).To(
			Equal("the workload cluster has no kind CephCluster in ceph.rook.io/v1"))
		secret := infrav1.GateObject{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: "s"}
		Expect(closed(ctx, object("true", secret))).To(Equal("Secrets are not read"))
		secrets := infrav1.GateObject{APIVersion: "v1", Kind: "SecretList", Namespace: namespace}
		Expect(closed(ctx, object("true", secrets))).To(Equal("SecretList is not the kind of an object"))
	})

	It("never read Secrets, however their kind is written", func(ctx SpecContext) {
		grant(ctx, readsConfigMaps, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list"}})
		Expect(server.Client.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}})).To(Succeed())
		Eventually(func() string { return closed(ctx, object("true", configMap("state"))) }).Should(HaveSuffix("does not exist"), "the rights are known")
		for _, kind := range []string{"Secret", "secret"} {
			for _, version := range []string{"v1", "/v1"} {
				for _, name := range []string{"s", ""} {
					Expect(closed(ctx, object("self.items.size() > 0 || self.metadata.name == 's'", infrav1.GateObject{
						APIVersion: version, Kind: kind, Namespace: namespace, Name: name,
					}))).To(Equal("Secrets are not read"), "%s %s %s", version, kind, name)
				}
			}
		}
		for _, kind := range []string{"SECRET", "Secrets", "secrets", "Secretlist", "secretlist", "secretList"} {
			Expect(closed(ctx, object("true", infrav1.GateObject{APIVersion: "v1", Kind: kind, Namespace: namespace}))).To(
				Or(Equal("the workload cluster has no kind "+kind+" in v1"), Equal(kind+" is not the kind of an object")))
		}
	})

	It("do not show what an API server says of an object", func(ctx SpecContext) {
		said, err := (&account{}).unread(ctx, configMap("state"), apierrors.NewInternalError(errors.New("converting MARKER-7f3a failed")))
		Expect(err).NotTo(HaveOccurred())
		Expect(said).To(Equal("reading ConfigMap " + namespace + "/state failed: the API server answers 500, see the log of the manager"))
	})

	It("say that a namespace is missing", func(ctx SpecContext) {
		grant(ctx, readsConfigMaps)
		Expect(closed(ctx, object("true", infrav1.GateObject{APIVersion: "v1", Kind: "ConfigMap", Name: "c"}))).To(Equal(
			"set its object.namespace: objects of kind ConfigMap are in namespaces"))
	})

	It("with a list see what the selector selects, and no more than a limit", func(ctx SpecContext) {
		grant(ctx, readsConfigMaps)
		for i := range maxItems + 1 {
			Expect(server.Client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("c-%d", i), Labels: map[string]string{"few": fmt.Sprint(i < 2)},
			}})).To(Succeed())
		}
		all := infrav1.GateObject{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace}
		Eventually(func() string { return closed(ctx, object("true", all)) }).Should(Equal("the objects of kind ConfigMap in namespace " + namespace +
			" are more than 500: select fewer by object.selector or object.namespace"))
		all.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"few": "true"}}
		Expect(closed(ctx, object("self.items.size() == 2", all))).To(BeEmpty())
	})

	It("are closed without a ServiceAccount that is for gates", func(ctx SpecContext) {
		Expect(server.Client.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mighty"}})).To(Succeed())
		evaluator.Upgrade.Spec.GateServiceAccount.Name = "mighty"
		Expect(closed(ctx, object("true", configMap("state")))).To(Equal("ServiceAccount " + namespace + "/mighty of the workload cluster is not for gates: " +
			"its owner allows that by annotation infrastructure.cluster.x-k8s.io/elemental-gates: allowed"))
		evaluator.Upgrade.Spec.GateServiceAccount.Name = "absent"
		Expect(closed(ctx, object("true", configMap("state")))).To(Equal("ServiceAccount " + namespace +
			"/absent of spec.gateServiceAccount does not exist in the workload cluster"))
	})

	It("are closed while the workload cluster cannot be reached", func(ctx SpecContext) {
		evaluator.Workload = connector{err: workload.ErrUnreachable}
		Expect(closed(ctx, object("true", configMap("state")))).To(HavePrefix("cannot reach workload cluster c: not connected"))
	})

	Context("with a Job", func() {
		smoke := infrav1.UpgradeGate{Name: "smoke", Job: &infrav1.GateJob{
			Image: "registry.test/smoke", Args: []string{"--all"}, Env: []infrav1.GateEnvVar{{Name: "A", Value: "b"}}, TimeoutSeconds: 600, RetryIntervalSeconds: 60,
		}}
		runsJobs := []rbacv1.PolicyRule{
			{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "create", "delete"}},
			{APIGroups: []string{""}, Resources: []string{"pods", "pods/log"}, Verbs: []string{"get", "list"}},
		}
		// jobs that there are.
		jobs := func(ctx context.Context) []batchv1.Job {
			GinkgoHelper()
			found := &batchv1.JobList{}
			Expect(server.Client.List(ctx, found, client.InNamespace(namespace))).To(Succeed())
			return found.Items
		}
		// ends has the one Job end, as its controller would.
		ends := func(ctx context.Context, ahead time.Duration, conditions ...batchv1.JobConditionType) {
			GinkgoHelper()
			job := jobs(ctx)[0]
			now := metav1.NewTime(evaluator.Now.Add(ahead))
			job.Status.StartTime, job.Status.Active, job.Status.Ready = &now, 0, nil
			for _, conditionType := range conditions {
				job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
					Type: conditionType, Status: corev1.ConditionTrue, LastTransitionTime: now, Message: "says something",
				})
				if conditionType == batchv1.JobComplete {
					job.Status.CompletionTime = &now
				}
			}
			Expect(server.Client.Status().Update(ctx, &job)).To(Succeed())
		}
		running := func(ctx context.Context) {
			GinkgoHelper()
			Eventually(func() string { return closed(ctx, smoke) }).Should(And(HavePrefix("Job "+namespace+"/smoke-"), MatchRegexp(` has no Pod that runs yet, and fails after 10m0s: see kubectl --namespace `+namespace+` describe job,pods --selector batch\.kubernetes\.io/job-name=smoke-[0-9a-f]{12}$`)))
		}

		It("are forbidden without rights", func(ctx SpecContext) {
			Expect(closed(ctx, smoke)).To(And(HavePrefix("running Job "+namespace+"/smoke-"), ContainSubstring(" is forbidden: ")))
			Expect(jobs(ctx)).To(BeEmpty())
		})

		It("run it once, without a token, until it completes", func(ctx SpecContext) {
			grant(ctx, runsJobs...)
			running(ctx)
			running(ctx)
			Expect(jobs(ctx)).To(HaveLen(1))
			job := jobs(ctx)[0]
			now := metav1.NewTime(evaluator.Now)
			job.Status.StartTime, job.Status.Active, job.Status.Ready = &now, 1, new(int32(1))
			Expect(server.Client.Status().Update(ctx, &job)).To(Succeed())
			Expect(closed(ctx, smoke)).To(HaveSuffix(" is running, for 10m0s at most"))
			made := job.Spec
			Expect(made).To(And(HaveField("BackoffLimit", HaveValue(BeZero())), HaveField("ActiveDeadlineSeconds", HaveValue(BeEquivalentTo(600)))))
			Expect(made.Template.Spec).To(And(HaveField("AutomountServiceAccountToken", HaveValue(BeFalse())), HaveField("ServiceAccountName", name)))
			ends(ctx, 0, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
			Expect(closed(ctx, smoke)).To(BeEmpty())

			By("being asked about the next node")
			verdicts, err := evaluator.All(ctx, "another key")
			Expect(err).NotTo(HaveOccurred())
			Expect(verdicts[0].Closed).To(HaveSuffix("/job-name=" + jobs(ctx)[0].Name))
			Expect(jobs(ctx)).To(And(HaveLen(1), HaveEach(HaveField("Status.Conditions", BeEmpty()))), "the former one is deleted")
		})

		DescribeTable("run it again after the interval when it has failed, whatever the clock of the cluster says", func(ctx SpecContext, ahead time.Duration) {
			grant(ctx, runsJobs...)
			running(ctx)
			former := jobs(ctx)[0]
			ends(ctx, ahead, batchv1.JobFailureTarget, batchv1.JobFailed)
			again := evaluator.Now.Add(time.Minute)
			Expect(closed(ctx, smoke)).To(Equal(fmt.Sprintf("Job %s/%s failed: says something; it is run again at %s", namespace, former.Name,
				again.UTC().Format(time.RFC3339))))

			evaluator.Now = again.Add(-1)
			Expect(closed(ctx, smoke)).To(ContainSubstring("; it is run again at "))
			evaluator.Now = again
			Expect(closed(ctx, smoke)).To(HaveSuffix(" failed: says something; it is run again"))
			running(ctx)
			Expect(jobs(ctx)).To(ConsistOf(And(HaveField("Name", former.Name), HaveField("UID", Not(Equal(former.UID))))))
		},
			Entry("8 h behind", -8*time.Hour), Entry("1 min behind", -time.Minute), Entry("the same", time.Duration(0)),
			Entry("1 min ahead", time.Minute), Entry("8 h ahead", 8*time.Hour),
		)

		It("are not run while a gate with an object is closed", func(ctx SpecContext) {
			grant(ctx, append(runsJobs, readsConfigMaps)...)
			evaluator.Upgrade.Spec.Gates = []infrav1.UpgradeGate{smoke, object("true", configMap("absent"))}
			verdicts, err := evaluator.All(ctx, "key")
			Expect(err).NotTo(HaveOccurred())
			Expect(verdicts).To(HaveExactElements(
				Verdict{Name: "smoke", Closed: "its Job is run after the gates with an object are open"}, HaveField("Name", "health")))
			Expect(jobs(ctx)).To(BeEmpty())
		})
	})
})

// unanswered is a client whose look-ups of kinds fail.
type unanswered struct {
	client.Client
	err error
}

func (u unanswered) RESTMapper() meta.RESTMapper { return failingMapper{err: u.err} }

type failingMapper struct {
	meta.RESTMapper
	err error
}

func (f failingMapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, f.err
}

var _ = DescribeTable("A kind that cannot be looked up closes the gate, and ends no reconcile", func(ctx SpecContext, cause error, expected string) {
	as := &account{Client: unanswered{err: cause}}
	for _, object := range []infrav1.GateObject{{APIVersion: "example.com/v1", Kind: "Backup", Name: "last"}, {APIVersion: "example.com/v1", Kind: "Backup"}} {
		_, why, err := as.read(ctx, object)
		Expect(err).NotTo(HaveOccurred())
		Expect(why).To(HavePrefix(expected))
	}
},
	Entry("since the API server does not answer", errors.New("dial tcp: i/o timeout"),
		"the workload cluster does not answer whether it has kind Backup in example.com/v1, see the log of the manager"),
	Entry("since what serves its group does not", apierrors.NewServiceUnavailable("down"), "reading "),
	Entry("since there is none", &meta.NoKindMatchError{}, "the workload cluster has no kind Backup in example.com/v1"),
)
