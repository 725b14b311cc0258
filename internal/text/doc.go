// Package text writes for people and terminals: numbers and times (Plural, Short), tables and wrapped lines
// (Table, Wrap), texts from outside without control characters (Clean), and the word that a misspelt one may
// have been meant as (Suggest).
package text
