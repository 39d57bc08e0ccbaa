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

// Convert every `threads`-th group, from number `thread` on. C says what an element becomes: `C::of`.
template <class C>
LP_INLINE void convert_groups(const u8 *src, u8 *dst, u64 n, const params_t &p, u64 thread, u64 threads) {
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
        LP_UNROLL for (int k = 0; k < N; ++k) to[k] = C::of(from[k], p);
        target_side::write(dst, group, count, whole, to);
    }
}

#ifdef __CUDACC__
#define LP_KERNEL(NAME, C)                                                                                            \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        NAME(const u8 *__restrict__ src, u8 *__restrict__ dst, u64 n, const params_t p) {                             \
        convert_groups<C>(src, dst, n, p, (u64)blockIdx.x * blockDim.x + threadIdx.x, (u64)gridDim.x * blockDim.x);   \
    }
#endif
