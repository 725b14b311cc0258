package check

import "github.com/rlcheck/rlcheck/internal/timeline"

// reel is a tape in pieces of one store, which many share: it grows without being copied and has little to spare. The zero
// value is empty.
type reel struct {
	tapeHead
	// head and tail are the first and the last piece, size the number of bytes.
	head, tail uint32
	size       int
}

// store has the pieces of many reels. Its memory is not given back before all of it is.
type store struct {
	blocks []*[blockPieces]piece
	used   uint32
}

// piece is a part of one reel; next is the piece behind it.
type piece struct {
	bytes [pieceBytes]byte
	next  uint32
}

const (
	pieceBytes  = 60
	blockPieces = 1 << 12
)

func (s *store) piece(k uint32) *piece { return &s.blocks[k/blockPieces][k%blockPieces] }

// bytes is the memory of all pieces.
func (s *store) bytes() int { return len(s.blocks) * blockPieces * (pieceBytes + 4) }

func (s *store) fresh() uint32 {
	if s.used == uint32(len(s.blocks))*blockPieces {
		s.blocks = append(s.blocks, new([blockPieces]piece))
	}
	s.used++
	return s.used - 1
}

// add appends an observation.
func (r *reel) add(s *store, o *timeline.Observation) {
	var room [tapeMost]byte
	for b := r.code(room[:0], o); len(b) > 0; {
		at := r.size % pieceBytes
		if at == 0 {
			k := s.fresh()
			if r.size == 0 {
				r.head = k
			} else {
				s.piece(r.tail).next = k
			}
			r.tail = k
		}
		n := copy(s.piece(r.tail).bytes[at:], b)
		r.size += n
		b = b[n:]
	}
}

// read returns all bytes, in the memory of room.
func (r *reel) read(s *store, room []byte) []byte {
	room = room[:0]
	for k := r.head; len(room) < r.size; {
		p := s.piece(k)
		room = append(room, p.bytes[:min(pieceBytes, r.size-len(room))]...)
		k = p.next
	}
	return room
}

// observations returns all that was added, under the name of a partition.
func (r *reel) observations(s *store, partition string) []timeline.Observation {
	out := make([]timeline.Observation, 0, r.n)
	eachOf(r.read(s, make([]byte, 0, r.size)), func(o *timeline.Observation) {
		out = append(out, *o)
		out[len(out)-1].Partition = partition
	})
	return out
}
