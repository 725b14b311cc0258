package text

// longest is the longest word that is compared, in bytes; a longer one is unlike everything.
const longest = 64

// Edits returns the number of bytes to insert, delete, replace or swap with a neighbour to turn a into b
// (optimal string alignment); the longer length for words over 64 bytes.
func Edits(a, b string) int { return edits(a, b, 1) }

// Slips is Edits for short words, in which another letter makes another word (host and cost): a letter is not
// replaced but deleted and inserted.
func Slips(a, b string) int { return edits(a, b, 2) }

// edits counts a replacement as so many.
func edits(a, b string, replacement int) int {
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	var rows [3][longest + 1]int
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above, twoAbove := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			differ := replacement
			if a[i-1] == b[j-1] {
				differ = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+differ)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], twoAbove[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
