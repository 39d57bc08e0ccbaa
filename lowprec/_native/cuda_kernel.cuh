// What a thread does: read a vector of elements, convert each, write the codes; then the next vector, a grid further.
//
// A vector is what cuda.py says: as many elements as one instruction loads or stores. Where a base pointer is not
// aligned for vectors, and in the last one, elements are read and written one by one.

#ifdef __CUDACC__
#define LP_CONSTEXPR __host__ __device__ constexpr
#define LP_UNROLL _Pragma("unroll")
#else // the tests compile this text for the host
#define LP_CONSTEXPR constexpr
#define LP_UNROLL
#endif

LP_CONSTEXPR int smaller(int a, int b) { return a < b ? a : b; }

// N values that are loaded and stored together, by instructions of up to 16 bytes.
template <typename T, int N>
struct alignas(smaller(16, (sizeof(T) * N) & (0 - sizeof(T) * N))) words_t {
    T at[N];
};

// The source or the output of a conversion: N elements of BITS bits, each stored in a T.
template <typename T, int BITS, int N>
struct side_t {
    typedef words_t<T, N> vector_t;

    static LP_INLINE void read(const u8 *base, u64 vector, int count, bool whole, T (&v)[N]) {
        const T *from = reinterpret_cast<const T *>(base) + vector * N;
        if (whole) {
            const vector_t all = *reinterpret_cast<const vector_t *>(from);
            LP_UNROLL for (int k = 0; k < N; ++k) v[k] = all.at[k];
        } else {
            LP_UNROLL for (int k = 0; k < N; ++k) v[k] = k < count ? from[k] : 0;
        }
    }

    static LP_INLINE void write(u8 *base, u64 vector, int count, bool whole, const T (&v)[N]) {
        T *to = reinterpret_cast<T *>(base) + vector * N;
        if (whole) {
            vector_t all;
            LP_UNROLL for (int k = 0; k < N; ++k) all.at[k] = v[k];
            *reinterpret_cast<vector_t *>(to) = all;
        } else {
            LP_UNROLL for (int k = 0; k < N; ++k) if (k < count) to[k] = v[k];
        }
    }
};

// The same where codes are packed: the first one in the lowest bits of little-endian words, the tail zero.
template <int BITS, int N>
struct packed_t {
    static constexpr int WORDS = N * BITS / 32;
    typedef words_t<u32, WORDS> vector_t;

    static LP_INLINE void read(const u8 *base, u64 vector, int count, bool whole, u8 (&v)[N]) {
        const u8 *from = base + vector * (4 * WORDS);
        vector_t all;
        if (whole) {
            all = *reinterpret_cast<const vector_t *>(from);
        } else {
            const int bytes = (count * BITS + 7) / 8;
            LP_UNROLL for (int w = 0; w < WORDS; ++w) all.at[w] = 0;
            LP_UNROLL for (int b = 0; b < 4 * WORDS; ++b) all.at[b / 4] |= b < bytes ? (u32)from[b] << b % 4 * 8 : 0;
        }
        LP_UNROLL for (int k = 0; k < N; ++k) {
            const int word = k * BITS / 32, bit = k * BITS % 32;
            u32 code = all.at[word] >> bit;
            if (bit + BITS > 32) code |= all.at[smaller(word + 1, WORDS - 1)] << (32 - bit) % 32;
            v[k] = (u8)(code & ((1u << BITS) - 1));
        }
    }

    static LP_INLINE void write(u8 *base, u64 vector, int count, bool whole, const u8 (&v)[N]) {
        u8 *to = base + vector * (4 * WORDS);
        vector_t all;
        LP_UNROLL for (int w = 0; w < WORDS; ++w) all.at[w] = 0;
        LP_UNROLL for (int k = 0; k < N; ++k) {
            const int word = k * BITS / 32, bit = k * BITS % 32;
            const u32 code = k < count ? v[k] : 0;
            all.at[word] |= code << bit;
            if (bit + BITS > 32) all.at[smaller(word + 1, WORDS - 1)] |= code >> (32 - bit) % 32;
        }
        if (whole) {
            *reinterpret_cast<vector_t *>(to) = all;
        } else {
            const int bytes = (count * BITS + 7) / 8;
            LP_UNROLL for (int b = 0; b < 4 * WORDS; ++b) if (b < bytes) to[b] = (u8)(all.at[b / 4] >> b % 4 * 8);
        }
    }
};

template <int N> struct side_t<u8, 2, N> : packed_t<2, N> {};
template <int N> struct side_t<u8, 4, N> : packed_t<4, N> {};
template <int N> struct side_t<u8, 6, N> : packed_t<6, N> {};

// The scales and zero points of a call, which elements share them, and its random numbers. Element (outer, position,
// inner), in C order, has the scale with index (outer * outer_step + position / block) * width + (width > 1 ? inner : 0).
struct operands_t {
    u64 scale, zero;  // addresses; no zero points: 0
    u64 inner, length, block, outer_step, width;
    u64 seed, slot;  // of the random stream: the place of element 0
};

// The slots of elements that follow each other; several are in one call of the generator.
struct slots_t {
    lp_words_t words;
    u64 call;

    LP_INLINE slots_t() : words(), call(~(u64)0) {}

    LP_INLINE u32 at(u64 element, u64 seed, u32 slot_bits) {
        const u64 needed = element / (128 / slot_bits);
        if (needed != call) {
            call = needed;
            words = lp_philox(call, seed);
        }
        return lp_slot_of(words, element, slot_bits);
    }
};

// Divisions of 64 bits take several times as long.
LP_INLINE u64 quotient(u64 a, u64 b) { return (a | b) >> 32 != 0 ? a / b : (u32)a / (u32)b; }

// The index of an element and of its scale: computed by divisions for the first of a vector, by steps for the others.
struct position_t {
    u64 inner, position, within, row;  // within its block; the row of its scale: outer * outer_step + position / block

    LP_INLINE position_t(u64 element, const operands_t &o) {
        const u64 outer_and_position = o.inner == 1 ? element : element < o.inner ? 0 : quotient(element, o.inner);
        const u64 outer = outer_and_position < o.length ? 0 : quotient(outer_and_position, o.length);
        inner = element - outer_and_position * o.inner;
        position = outer_and_position - outer * o.length;
        const u64 blocks = o.block == 1 ? position : quotient(position, o.block);
        within = position - blocks * o.block;
        row = outer * o.outer_step + blocks;
    }

    LP_INLINE void step(const operands_t &o) {
        if (++inner < o.inner) return;
        inner = 0;
        if (++position == o.length) {
            position = within = 0;
            row = o.outer_step != 0 ? row + 1 : 0;  // there are as many blocks along the axis as outer_step says
        } else if (++within == o.block) {
            within = 0;
            ++row;
        }
    }

    LP_INLINE u64 scale_index(const operands_t &o) const { return row * o.width + (o.width > 1 ? inner : 0); }
};

// The row of the scale of an element: by one division where blocks fill the axis.
LP_INLINE u64 row_of(u64 element, const operands_t &o) {
    return o.outer_step * o.block == o.length ? quotient(element, o.inner * o.block) : position_t(element, o).row;
}

// Which scales the elements of a vector have, for every vector of a call alike: the only one; one that they share, where
// axes and blocks are whole vectors; scales that follow each other; or others.
enum scales_of_vector_t { ONLY, SHARED, CONSECUTIVE, OTHER };

template <int N>
LP_INLINE scales_of_vector_t scales_of_vector(const operands_t &o) {
    if (o.outer_step == 0 && o.length == 1) return ONLY;
    const bool rows_are_whole = o.inner * o.length % N == 0 && o.inner * o.block % N == 0;
    if (o.width == 1 && rows_are_whole) return SHARED;
    if (o.width > 1 ? o.inner % N == 0 : o.inner == 1 && o.block == 1 && o.length % N == 0) return CONSECUTIVE;
    return OTHER;
}

// Convert the elements of one vector, with their scales and zero points where C takes them.
template <class C, int N>
LP_INLINE void convert_vector(
    const typename C::source_t (&from)[N], typename C::target_t (&to)[N], u64 first, int count, const params_t &p,
    const operands_t &o, scales_of_vector_t scales) {
    slots_t slots;
    (void)slots, (void)scales;
    if constexpr (C::takes_scales) {
        const typename C::scale_t *scale = reinterpret_cast<const typename C::scale_t *>(o.scale);
        const u32 *zero = reinterpret_cast<const u32 *>(o.zero);
        const auto convert = [&](int k, typename C::scale_t of_element, u32 zero_point) {
            if constexpr (C::takes_slots) {
                const u32 slot = slots.at(o.slot + first + k, o.seed, p.round_slot_bits);
                to[k] = C::convert_one(from[k], p, of_element, zero_point, slot);
            } else {
                to[k] = C::convert_one(from[k], p, of_element, zero_point);
            }
        };
        if (scales <= SHARED) {
            const u64 index = scales == ONLY ? 0 : row_of(first, o);
            const typename C::scale_t of_vector = scale[index];
            const u32 zero_point = zero ? zero[index] : 0;
            LP_UNROLL for (int k = 0; k < N; ++k) convert(k, of_vector, zero_point);
        } else if (scales == CONSECUTIVE) {  // the array is whole vectors
            const u64 index = position_t(first, o).scale_index(o);
            LP_UNROLL for (int k = 0; k < N; ++k) convert(k, scale[index + k], zero ? zero[index + k] : 0);
        } else {
            position_t at(first, o);
            LP_UNROLL for (int k = 0; k < N; ++k) {
                if (k < count) {
                    const u64 own = at.scale_index(o);
                    convert(k, scale[own], zero ? zero[own] : 0);
                } else {
                    to[k] = 0;
                }
                at.step(o);
            }
        }
    } else if constexpr (C::takes_slots) {
        LP_UNROLL for (int k = 0; k < N; ++k)
            to[k] = C::convert_one(from[k], p, slots.at(o.slot + first + k, o.seed, p.round_slot_bits));
    } else {
        LP_UNROLL for (int k = 0; k < N; ++k) to[k] = C::convert_one(from[k], p);
    }
}

// Convert every `threads`-th vector, from index `thread` on.
template <class C>
LP_INLINE void convert_vectors(
    const u8 *src, u8 *dst, u64 n, const params_t &p, const operands_t &o, u64 thread, u64 threads) {
    constexpr int N = C::vector_length;
    typedef side_t<typename C::source_t, C::source_bits, N> source_side;
    typedef side_t<typename C::target_t, C::target_bits, N> target_side;
    const bool aligned = reinterpret_cast<u64>(src) % alignof(typename source_side::vector_t) == 0
                         && reinterpret_cast<u64>(dst) % alignof(typename target_side::vector_t) == 0;
    scales_of_vector_t scales = ONLY;
    if constexpr (C::takes_scales) scales = scales_of_vector<N>(o);
    for (u64 vector = thread; vector * N < n; vector += threads) {
        const u64 left = n - vector * N;
        const int count = left < N ? (int)left : N;
        const bool whole = aligned && count == N;
        typename C::source_t from[N];
        typename C::target_t to[N];
        source_side::read(src, vector, count, whole, from);
        convert_vector<C>(from, to, vector * N, count, p, o, scales);
        target_side::write(dst, vector, count, whole, to);
    }
}

#ifdef __CUDACC__
#define LP_KERNEL(NAME, C)                                                                                            \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        NAME(const u8 *__restrict__ src, u8 *__restrict__ dst, u64 n, const params_t p, const operands_t o) {         \
        const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;                                                \
        convert_vectors<C>(src, dst, n, p, o, thread, (u64)gridDim.x * blockDim.x);                                   \
    }
#endif
