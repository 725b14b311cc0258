package lab

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
)

// clientOf makes each request one of another client: name.1, name.2 and so on.
func clientOf(name string) func(*http.Request) {
	n := 0
	return func(r *http.Request) {
		n++
		r.Header.Set("X-Api-Key", fmt.Sprintf("%s.%d", name, n))
	}
}

func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("X-Forwarded-For", address) }
}

// both alters a request in two ways.
func both(a, b func(*http.Request)) func(*http.Request) {
	return func(r *http.Request) { a(r); b(r) }
}

func at(to string) func(*http.Request) {
	return func(r *http.Request) { r.URL.Path = to }
}

// capSights show faults of targets with caps. Each client has a limit of 10, an address one of 25, all
// together one of 40, and a route one of 15. The first sights show a right target.
var capSights = []sight{
	{steps: do(altered(90, plainly), altered(50, clientOf("u"))), right: "10, 15"},
	{steps: do(altered(20, both(clientOf("u"), at("/reports"))),
		altered(50, both(clientOf("v"), from("192.0.2.9")))), right: "15, 25"},
	{steps: do(altered(30, both(clientOf("u"), from("192.0.2.7"))),
		altered(30, both(clientOf("u"), from("192.0.2.8")))), right: "25, 15"},
	{fault: "global-cap-ignored", steps: do(altered(60, both(clientOf("u"), from("192.0.2.7"))),
		altered(60, both(clientOf("v"), from("192.0.2.8")))), right: "25, 15", wrong: "25, 25"},
	{fault: "route-cap-ignored", steps: do(altered(20, both(clientOf("u"), at("/reports")))), right: "15",
		wrong: "20"},
	{fault: "user-limit-ignored", steps: do(altered(20, plainly)), right: "10", wrong: "20"},
	{fault: "login-by-account-only", steps: do(altered(30, both(clientOf("u"), from("192.0.2.7")))),
		right: "25", wrong: "30"},
	{fault: "login-by-address-only",
		steps: do(altered(10, from("192.0.2.1")), altered(10, from("192.0.2.2"))),
		right: "10, 0", wrong: "10, 10"},
}

// plainly leaves a request as it is.
func plainly(*http.Request) {}

// TestCapsCountManyTogether compares right targets, and those with faults, with capSights.
func TestCapsCountManyTogether(t *testing.T) {
	for i, s := range capSights {
		t.Run(fmt.Sprint(i, s.fault), func(t *testing.T) {
			for fault, want := range map[string]string{"": s.right, s.fault: cmp.Or(s.wrong, s.right)} {
				synctest.Test(t, func(t *testing.T) {
					o := Options{Limit: parse(t, window), Fault: fault, ClientHeader: "X-Forwarded-For",
						Caps: []Cap{{Limit: parse(t, "fixed-window,rate=40/10s")},
							{ByAddress: true, Limit: parse(t, "fixed-window,rate=25/10s")},
							{Path: "/reports", Limit: parse(t, "fixed-window,rate=15/10s")}}}
					if got := run(open(t, o), s.steps...); got != want {
						t.Errorf("fault %q: got %s, want %s", fault, got, want)
					}
				})
			}
		})
	}
}

// tokenSights show the faults of targets whose clients have tokens, and of a login.
var tokenSights = []sight{
	{fault: "key-by-token", steps: do(altered(20, clientOf("owner"))), right: "10", wrong: "20"},
	{fault: "auth-before-limit", steps: do(guessed(20)), right: "10", wrong: "20"},
}

// guessed sends n guesses of a password and returns how many of them were checked.
func guessed(n int) step {
	return func(s *session) string {
		wrong := 0
		for range n {
			if ask(s.h, request{key: "a"}).StatusCode == http.StatusUnauthorized {
				wrong++
			}
		}
		return strconv.Itoa(wrong)
	}
}

// TestTokensOfAnOwnerAreOneClient: the tokens of one owner count together unless the fault counts each apart.
// A login answers 401 to a guess.
func TestTokensOfAnOwnerAreOneClient(t *testing.T) {
	for _, s := range tokenSights {
		for fault, want := range map[string]string{"": s.right, s.fault: s.wrong} {
			synctest.Test(t, func(t *testing.T) {
				o := Options{Limit: parse(t, window), Fault: fault, Owned: true}
				if s.fault == "auth-before-limit" {
					o.AllowStatus = http.StatusUnauthorized
				}
				if got := run(open(t, o), s.steps...); got != want {
					t.Errorf("fault %q: got %s, want %s", fault, got, want)
				}
			})
		}
	}
}
