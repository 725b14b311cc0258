package timeline_test

import _ "github.com/rlcheck/rlcheck/internal/timeline/zstd" // reads and writes zstd in these tests
