package lab

import (
	"net/http"
	"strings"
)

// abuseFaults let a client take more than its limit on purpose: by ids, tokens and accounts of its own
// making, or as many clients of one tenant.
var abuseFaults = []Fault{
	{
		Name: "client-id-trusted", Class: "A15",
		Sentence: "takes X-Api-Key, X-Client-Id or X-Device-Id for the client, whoever sends it",
		Citation: "https://owasp.org/API-Security/editions/2023/en/0xa4-unrestricted-resource-consumption/",
		key: func(r *http.Request, key string) string {
			for _, name := range []string{"X-Api-Key", "X-Client-Id", "X-Device-Id"} {
				if v := r.Header.Get(name); v != "" {
					return "id " + v
				}
			}
			return key
		},
	},
	{
		Name: "key-by-token", Class: "A15",
		Sentence: "counts each token of an owner separately, and an owner may have any number of tokens",
		Citation: "https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api",
		options:  func(o *Options) { o.Owned = false },
	},
	{
		Name: "auth-before-limit", Class: "A17",
		Sentence: "checks the password first, and counts only clients that know it",
		Citation: "https://owasp.org/www-community/controls/Blocking_Brute_Force_Attacks",
		unlimited: func(t *Target, _ *http.Request) bool {
			return t.opts.AllowStatus == http.StatusUnauthorized
		},
	},
	{
		Name: "login-by-address-only", Class: "A17",
		Sentence: "counts attempts only by the address, so many addresses can guess the password of " +
			"one account",
		Citation: "https://github.com/we-promise/sure/pull/3263",
		key: func(r *http.Request, _ string) string {
			if v := r.Header.Get("X-Forwarded-For"); v != "" {
				return "forwarded for " + v
			}
			return addressKey(r)
		},
	},
	{
		Name: "login-by-account-only", Class: "A17",
		Sentence: "counts attempts only by the account, so one address can try all accounts",
		Citation: "https://github.com/we-promise/sure/pull/3263",
		cap:      func(c Cap) bool { return !c.ByAddress },
	},
	{
		Name: "global-cap-ignored", Class: "A4",
		Sentence: "limits each client, but not all clients together",
		Citation: "https://www.rfc-editor.org/rfc/rfc6585#section-4",
		cap:      func(c Cap) bool { return c.ByAddress || c.Path != "" },
	},
	{
		Name: "route-cap-ignored", Class: "A4",
		Sentence: "limits all clients together, and applies that limit also to a route that has a " +
			"smaller one",
		Citation: "https://www.rfc-editor.org/rfc/rfc6585#section-4",
		cap:      func(c Cap) bool { return c.Path == "" },
	},
	{
		Name: "user-limit-ignored", Class: "A4",
		Sentence:  "limits all clients together, but lets one client use all of it",
		Citation:  "https://www.rfc-editor.org/rfc/rfc6585#section-4",
		unlimited: func(t *Target, _ *http.Request) bool { return len(t.opts.Caps) > 0 },
	},
	{
		Name: "exempt-for-all", Class: "A17",
		Sentence: "leaves a route unlimited for everybody, although it is only for some",
		Citation: "https://owasp.org/API-Security/editions/2023/en/0xa5-broken-function-level-authorization/",
		rule: func(u *Rule) bool {
			if len(u.Limit) == 0 && !u.Barred {
				u.Header = nil
			}
			return true
		},
	},
}

// ownerOf returns the owner of a token OWNER.NUMBER.
func ownerOf(token string) string {
	if i := strings.LastIndexByte(token, '.'); i > 0 {
		return token[:i]
	}
	return token
}
