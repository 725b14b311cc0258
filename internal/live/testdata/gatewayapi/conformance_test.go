// Package gatewayapi holds the example of docs/library.md: a conformance test of the Gateway API. It is a
// module of its own and is compiled only, since it needs a cluster.
package gatewayapi

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"

	"github.com/rlcheck/rlcheck/rlchecktest"
)

var RateLimitConformance = suite.ConformanceTest{
	ShortName:   "HTTPRouteRateLimit",
	Description: "A route with a rate limit admits no more than its policy says",
	Test: func(t *testing.T, s *suite.ConformanceTestSuite) {
		route := types.NamespacedName{Name: "limited", Namespace: "gateway-conformance-infra"}
		gw := types.NamespacedName{Name: "same-namespace", Namespace: "gateway-conformance-infra"}
		addr := kubernetes.GatewayAndHTTPRoutesMustBeAccepted(t, s.Client, s.TimeoutConfig,
			s.ControllerName, kubernetes.NewGatewayRef(gw), route)
		rlchecktest.URL(t, "http://"+addr+"/", "fixed-window,rate=100/1m,align=unknown",
			rlchecktest.Partition("none"), rlchecktest.Set("expect.conformance", "upper-bound"),
			rlchecktest.Only("burst", "quota-window", "sustained"))
	},
}
