package history

import (
	"bufio"
	"fmt"
	"sync"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Store has the bytes of many tapes. In memory they lie in small pieces, so that a tape grows without being
// copied and wastes little. Bytes that were spilled lie in one file.
type Store struct {
	Blocks []*[blockPieces]piece
	used   uint32
	// File is nil as long as nothing was spilled. written is the number of bytes in it.
	File    timeline.Spill
	written int64
	// Err is the first error of the file; mu guards it.
	mu  sync.Mutex
	Err error
}

// piece is a part of one tape. next is the number of the piece behind it.
type piece struct {
	bytes [pieceBytes]byte
	next  uint32
}

// extent is a part of one tape in the file: size bytes from offset at.
type extent struct {
	at   int64
	size int
}

// The sizes of a piece and of a read in bytes, and of a block in pieces.
const (
	pieceBytes  = 60
	blockPieces = 1 << 12
	readBytes   = 1 << 15
)

func (s *Store) piece(k uint32) *piece { return &s.Blocks[k/blockPieces][k%blockPieces] }

// Bytes returns the memory of all pieces in use.
func (s *Store) Bytes() int { return int(s.used) * (pieceBytes + 4) }

func (s *Store) fresh() uint32 {
	if s.used == uint32(len(s.Blocks))*blockPieces {
		s.Blocks = append(s.Blocks, new([blockPieces]piece))
	}
	s.used++
	return s.used - 1
}

// Spill writes the bytes in memory to the file, which open makes at the first call. tapes must give every
// tape.
func (s *Store) Spill(open func() (timeline.Spill, error), tapes func(func(t *Tape))) {
	if s.File == nil {
		if s.File, s.Err = open(); s.Err != nil {
			s.Err = fmt.Errorf("check: no file for what does not fit into memory: %w", s.Err)
			return
		}
	}
	w := bufio.NewWriterSize(s.File, readBytes)
	tapes(func(t *Tape) {
		if t.size == 0 {
			return
		}
		t.file = append(t.file, extent{s.written, t.size})
		s.written += int64(t.size)
		for k, left := t.head, t.size; left > 0; left -= pieceBytes {
			on := s.piece(k)
			_, _ = w.Write(on.bytes[:min(pieceBytes, left)]) // Flush returns its error
			k = on.next
		}
		t.size = 0
	})
	s.used = 0
	s.fail(w.Flush())
}

// read fills b from the offset at of the file. false: it could not, and Err says why.
func (s *Store) read(b []byte, at int64) bool {
	n, err := s.File.ReadAt(b, at)
	if n == len(b) {
		return true // a reader may tell of the end too
	}
	s.fail(err)
	return false
}

func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Err == nil && err != nil {
		s.Err = fmt.Errorf("check: the file of what does not fit into memory: %w", err)
	}
}

// Close gives the file back.
func (s *Store) Close() error {
	if s.File != nil {
		s.fail(s.File.Close())
		s.File = nil
	}
	return s.Err
}
