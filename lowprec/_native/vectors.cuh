// What a thread does: read a group of elements, convert each, write the codes; then the next group, a grid further.
//
// How many elements a group has, cuda.py says. Where a base pointer is not aligned as a group is, and in the last
// group, elements go one by one.

LP_CONSTEXPR int smaller(int a, int b) { return a < b ? a : b; }

// N values that are loaded and stored together, by instructions of up to 16 bytes.
template <typename T, int N>
struct alignas(smaller(16, (sizeof(T) * N) & (0 - sizeof(T) * N))) together_t {
    T at[N];
};

// One side of a conversion: N elements of BITS bits, each held in a T.
template <typename T, int BITS, int N>
struct side_t {
    typedef together_t<T, N> group_t;

    static LP_INLINE void read(const u8 *base, u64 group, int count, bool whole, T (&v)[N]) {
        const T *from = reinterpret_cast<const T *>(base) + group * N;
        if (whole) {
            const group_t all = *reinterpret_cast<const group_t *>(from);
            LP_UNROLL for (int k = 0; k < N; ++k) v[k] = all.at[k];
        } else {
            LP_UNROLL for (int k = 0; k < N; ++k) v[k] = k < count ? from[k] : 0;
        }
    }

    static LP_INLINE void write(u8 *base, u64 group, int count, bool whole, const T (&v)[N]) {
        T *to = reinterpret_cast<T *>(base) + group * N;
        if (whole) {
            group_t all;
            LP_UNROLL for (int k = 0; k < N; ++k) all.at[k] = v[k];
            *reinterpret_cast<group_t *>(to) = all;
        } else {
            LP_UNROLL for (int k = 0; k < N; ++k) if (k < count) to[k] = v[k];
        }
    }
};

// The same where codes are packed: the first one in the lowest bits of little-endian words, the tail zero.
template <int BITS, int N>
struct packed_t {
    static constexpr int WORDS = N * BITS / 32;
    typedef together_t<u32, WORDS> group_t;

    static LP_INLINE void read(const u8 *base, u64 group, int count, bool whole, u8 (&v)[N]) {
        const u8 *from = base + group * (4 * WORDS);
        group_t all;
        if (whole) {
            all = *reinterpret_cast<const group_t *>(from);
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

    static LP_INLINE void write(u8 *base, u64 group, int count, bool whole, const u8 (&v)[N]) {
        u8 *to = base + group * (4 * WORDS);
        group_t all;
        LP_UNROLL for (int w = 0; w < WORDS; ++w) all.at[w] = 0;
        LP_UNROLL for (int k = 0; k < N; ++k) {
            const int word = k * BITS / 32, bit = k * BITS % 32;
            const u32 code = k < count ? v[k] : 0;
            all.at[word] |= code << bit;
            if (bit + BITS > 32) all.at[smaller(word + 1, WORDS - 1)] |= code >> (32 - bit) % 32;
        }
        if (whole) {
            *reinterpret_cast<group_t *>(to) = all;
        } else {
            const int bytes = (count * BITS + 7) / 8;
            LP_UNROLL for (int b = 0; b < 4 * WORDS; ++b) if (b < bytes) to[b] = (u8)(all.at[b / 4] >> b % 4 * 8);
        }
    }
};

template <int N> struct side_t<u8, 2, N> : packed_t<2, N> {};
template <int N> struct side_t<u8, 4, N> : packed_t<4, N> {};
template <int N> struct side_t<u8, 6, N> : packed_t<6, N> {};

// The scales and zero points of a call, and how they spread over the elements, which stand in C order at
// (outer, position, inner): number (outer * outer_step + position / block) * width + (width > 1 ? inner : 0).
struct operands_t {
    u64 scale, zero;  // addresses; no zero points: 0
    u64 inner, length, block, outer_step, width;
};

// Divisions of 64 bits take several times as long.
LP_INLINE u64 quotient(u64 a, u64 b) { return (a | b) >> 32 != 0 ? a / b : (u32)a / (u32)b; }

// Where an element stands: found by divisions for the first one of a group, by steps for the others.
struct place_t {
    u64 inner, position, within, row;  // within its block; the row of its scale: outer * outer_step + position / block

    LP_INLINE place_t(u64 element, const operands_t &o) {
        const u64 rest = element < o.inner ? 0 : quotient(element, o.inner);
        const u64 outer = rest < o.length ? 0 : quotient(rest, o.length);
        inner = element - rest * o.inner;
        position = rest - outer * o.length;
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

    LP_INLINE u64 number(const operands_t &o) const { return row * o.width + (o.width > 1 ? inner : 0); }
};

// What the elements of one group become: C::of, with their scales and zero points where C is linear.
template <class C, int N>
LP_INLINE void convert_group(
    const typename C::source_t (&from)[N], typename C::target_t (&to)[N], u64 first, int count, const params_t &p,
    const operands_t &o) {
    if constexpr (C::linear) {
        const typename C::scale_t *scale = reinterpret_cast<const typename C::scale_t *>(o.scale);
        const u32 *zero = reinterpret_cast<const u32 *>(o.zero);
        place_t at(first, o);
        LP_UNROLL for (int k = 0; k < N; ++k) {
            const u64 number = at.number(o);
            to[k] = k < count ? C::of(from[k], p, scale[number], zero ? zero[number] : 0) : 0;
            at.step(o);
        }
    } else {
        LP_UNROLL for (int k = 0; k < N; ++k) to[k] = C::of(from[k], p);
    }
}

// Convert every `threads`-th group, from number `thread` on.
template <class C>
LP_INLINE void convert_groups(
    const u8 *src, u8 *dst, u64 n, const params_t &p, const operands_t &o, u64 thread, u64 threads) {
    constexpr int N = C::group;
    typedef side_t<typename C::source_t, C::source_bits, N> source_side;
    typedef side_t<typename C::target_t, C::target_bits, N> target_side;
    const bool aligned = reinterpret_cast<u64>(src) % alignof(typename source_side::group_t) == 0
                         && reinterpret_cast<u64>(dst) % alignof(typename target_side::group_t) == 0;
    for (u64 group = thread; group * N < n; group += threads) {
        const u64 left = n - group * N;
        const int count = left < N ? (int)left : N;
        const bool whole = aligned && count == N;
        typename C::source_t from[N];
        typename C::target_t to[N];
        source_side::read(src, group, count, whole, from);
        convert_group<C>(from, to, group * N, count, p, o);
        target_side::write(dst, group, count, whole, to);
    }
}

#ifdef __CUDACC__
#define LP_KERNEL(NAME, C)                                                                                            \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        NAME(const u8 *__restrict__ src, u8 *__restrict__ dst, u64 n, const params_t p, const operands_t o) {         \
        const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;                                                \
        convert_groups<C>(src, dst, n, p, o, thread, (u64)gridDim.x * blockDim.x);                                    \
    }
#endif
