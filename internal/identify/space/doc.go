// Package space holds the policies that a recording leaves. A kind is a family of policies, such as windows
// by the clock. A box is a closed range of its parameters. A region is what is left of a kind: boxes that the
// judge has not refuted.
package space
