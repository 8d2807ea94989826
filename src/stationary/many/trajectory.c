/* Parts of the program of a trajectory, in C that is CUDA, too: text.py puts them together.

   Every part begins with a line of its name; what stands in comments of capitals is filled in. */

//-- head
#ifdef __CUDACC__
#define FUNCTION static __device__ __forceinline__
#define FAR static __device__ __noinline__
#define UNROLL _Pragma("unroll")
#else
#include <math.h>
#define FUNCTION static inline
#define FAR static
#define UNROLL
static inline void sincos_(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }
static inline void sincosf_(float x, float *s, float *c) { *s = sinf(x); *c = cosf(x); }
#define sincos sincos_
#define sincosf sincosf_
#endif
#ifndef NAN
#define NAN (0.0 / 0.0)
#endif
#ifndef INFINITY
#define INFINITY (1.0 / 0.0)
#endif

//-- partly
/* A part of a step, out of line: taken now and then. */
FAR void partly(real t, real h, const real *y, const real *k1, const real *p, real *yn)
{
    advance(t, h, y, k1, p, yn, 0, 0, 0, 0);
}

//-- poles
/* Whether what must not be zero passes it in a step, or comes close and goes back. */
FUNCTION int poles(real h, real g0, real r0, real g1, real r1)
{
    const real way = (real)0.25 * h * fmax(fabs(r0), fabs(r1));
    const real ends = fmin(fabs(g0), fabs(g1));
    if (!(g0 * g1 > 0)) return 1;
    return g0 * r0 < 0 && g1 * r1 > 0 && ends - way < (real)0.1 * ends;
}

//-- watched
/* What is watched at parts of a step: between its ends roughly, by a cubic, or exactly. */
typedef struct { real h, s[L + 1], g[L + 1][G], r[L + 1][G]; int exact; } Seen;

FAR void between(int exact, real t, real h, const real *y, const real *k1, const real *yn,
                 const real *kn, const real *p, Seen *seen)
{
    real z[N], x;
    int i, j;
    seen->h = h; seen->exact = exact; seen->s[0] = 0; seen->s[L] = h;
    for (j = 1; j < L; j++) {
        const real u = (real)j / L, v = 1 - u;
        x = seen->s[j] = u * h;
        if (exact) partly(t, x, y, k1, p, z);
        else for (i = 0; i < N; i++)
            z[i] = v * v * ((1 + 2 * u) * y[i] + u * h * k1[i])
                 + u * u * ((1 + 2 * v) * yn[i] - v * h * kn[i]);
        x += t;
        watch(&x, z, p, seen->g[j], seen->r[j]);
    }
}

/* Where, in (a, b), a part of the step is on the zero of a watched value, or of its rate. */
FAR real locate(int rate, int w, real t, const real *y, const real *k1, const real *p,
                real a, real fa, real b, real fb, real *yr)
{
    real g[G], r[G], s = b, x, f, last = b;
    int n;
    for (n = 0; n < 100; n++) {
        s = n % 3 == 2 ? (a + b) / 2 : b - fb * (b - a) / (fb - fa);
        if (!(s > a && s < b)) s = (a + b) / 2;
        if (s <= a || s >= b || b - a <= TINY * fmax(fabs(t), last)) { s = b; break; }
        partly(t, s, y, k1, p, yr);
        x = t + s;
        watch(&x, yr, p, g, r);
        f = rate ? r[w] : g[w];
        if (f == 0) break;
        if ((f > 0) == (fb > 0)) { b = s; fb = f; if (n % 3 == 0) fa /= 2; }
        else { a = s; fa = f; if (n % 3 == 0) fb /= 2; }
    }
    partly(t, s, y, k1, p, yr);
    return s;
}

/* Whether a value turns towards zero between two parts, and tangents say that it can get there. */
FUNCTION int dips(real h, real g0, real r0, real g1, real r1)
{
    if (!(r0 * g0 < 0 && r1 * g1 > 0)) return 0;
    return (g0 + r0 * ((g1 - r1 * h - g0) / (r0 - r1))) * g0 <= 0;
}

/* The first crossing inside a step, or a negative number. */
FAR real crossing(int w, int direction, real t, const real *y, const real *k1, const real *yn,
                  const real *kn, const real *p, Seen *seen)
{
    real yr[N], g[G], r[G], s, x;
    int j, near = 0;
    for (j = 0; j < L; j++) {
        const real g0 = seen->g[j][w], g1 = seen->g[j + 1][w];
        near |= (g0 > 0) != (g1 > 0) || g1 == 0
             || dips(seen->h / L, g0, seen->r[j][w], g1, seen->r[j + 1][w]);
    }
    if (!near) return -1;
    if (!seen->exact) between(1, t, seen->h, y, k1, yn, kn, p, seen);
    for (j = 0; j < L; j++) {
        const real a = seen->s[j], b = seen->s[j + 1], g0 = seen->g[j][w], g1 = seen->g[j + 1][w];
        const int falls = direction && (g0 < 0) != (direction > 0);
        if ((g0 > 0) != (g1 > 0) || g1 == 0) {
            if (!falls && g0 != 0) return locate(0, w, t, y, k1, p, a, g0, b, g1, yr);
        } else if (dips(b - a, g0, seen->r[j][w], g1, seen->r[j + 1][w])) {
            s = locate(1, w, t, y, k1, p, a, seen->r[j][w], b, seen->r[j + 1][w], yr);
            x = t + s;
            watch(&x, yr, p, g, r);
            if ((g[w] > 0) == (g0 > 0)) continue;
            return falls ? locate(0, w, t, y, k1, p, s, g[w], b, g1, yr)
                         : locate(0, w, t, y, k1, p, a, g0, s, g[w], yr);
        }
    }
    return -1;
}

/* The largest value (sign 1) or the smallest (-1) inside a step, if it may pass the best one. */
FAR real summit(int w, int sign, real best, real t, const real *y, const real *k1, const real *yn,
                const real *kn, const real *p, Seen *seen)
{
    real yr[N], g[G], r[G], s, x;
    int j;
    for (j = 0; j < L; j++) {
        real a = seen->s[j], b = seen->s[j + 1], r0 = seen->r[j][w], r1 = seen->r[j + 1][w];
        if (!(sign * r0 > 0 && sign * r1 < 0)) continue;
        x = (seen->g[j + 1][w] - r1 * (b - a) - seen->g[j][w]) / (r0 - r1);
        if (!(sign * (seen->g[j][w] + r0 * x) > sign * best)) continue;
        if (!seen->exact) { between(1, t, seen->h, y, k1, yn, kn, p, seen); j = -1; continue; }
        s = locate(1, w, t, y, k1, p, a, r0, b, r1, yr);
        x = t + s;
        watch(&x, yr, p, g, r);
        if (sign * g[w] > sign * best) best = g[w];
    }
    return best;
}

/* The side of zero that a watched value is on, where it starts from there; zero if it stays. */
FUNCTION real side(real g, real r, real rough, real whole)
{
    if (fabs(g) > 16 * TINY * (fabs(g) + rough)) return g;
    return fabs(r) <= (real)1e-12 * whole ? 0 : r > 0 ? (real)1e-37 : (real)-1e-37;
}

//-- part
FUNCTION void part(real t, real at, real tn, const real *y, const real *yn,
                   const real *k1, const real *p, real *e)
{
    real z[N];
    if (at == tn) { kept(&at, yn, p, e); return; }
    partly(t, at - t, y, k1, p, z);
    kept(&at, z, p, e);
}

//-- sampled
/* Take up the samples from a knot on; return when the next one comes. */
FUNCTION real entered(int knot, const real *table, long apart, real *p)
{
    const int slots[TABLES] = {/*SLOTS*/};
    const real *here = table + (long)knot * (TABLES + 1) * apart;
    const real *next = here + (long)(TABLES + 1) * apart;
    int i;
    for (i = 0; i < TABLES; i++) {
        const real a = here[(long)(i + 1) * apart], b = next[(long)(i + 1) * apart];
        p[slots[i]] = a;
        p[slots[i] + 1] = (b - a) / (next[0] - here[0]);
        p[slots[i] + 2] = here[0];
    }
    return next[0];
}

//-- held
/* Whether constraints and their rates are zero, to a part of what they are made of. */
FUNCTION int holds(real t, const real *y, const real *p, const real *size, real part)
{
    real R[ROWS], V[ROWS], A[ROWS * (M / 2)];
    int i, j;
    held(&t, y, p, R, V, A);
    for (i = 0; i < ROWS; i++) {
        real a = 0, b = 0;
        for (j = 0; j < M / 2; j++) {
            const real slope = fabs(A[j * ROWS + i]);
            a += slope * fmax(fabs(y[j]), size[j]);
            b += slope * fmax(fabs(y[M / 2 + j]), size[M / 2 + j]);
        }
        if (!(fabs(R[i]) <= part * a && fabs(V[i]) <= part * b)) return 0;
    }
    return 1;
}

//-- trajectory
/* One motion. */
FUNCTION void trajectory(long lane, long count, const real *starts, const real *values,
    const real *span, const real *table, long apart, int knots, real rtol, real atol, real step,
    long most, real *out, int *status, int *steps)
{
    real y[N], yn[N], k1[N], kn[N], p[P + 1], g[G], r[G], gn[G], rn[G];
    real t = span[lane], end = span[count + lane], begin = span[lane], tn, hh, h, q, error = 0;
    real stop = end, leg = begin, lately = begin;
    int n, total = 0, index = 0, knot = 0, late = 0;
    int i, over = 0, acts = 0, state = 0;
    /*DECLARE*/
    (void)rtol; (void)atol; (void)step; (void)error; (void)q; (void)e; (void)begin; (void)table;
    (void)g; (void)r; (void)gn; (void)rn; (void)h; (void)total; (void)over; (void)apart;
    (void)knots; (void)knot; (void)leg; (void)index; (void)late; (void)acts; (void)lately;
    (void)jumped; (void)large; (void)whole; (void)stop;
    UNROLL for (i = 0; i < S; i++) y[i] = starts[i * count + lane];
    UNROLL for (i = S; i < N; i++) y[i] = 0;
    UNROLL for (i = 0; i < P; i++) p[i] = values[i * count + lane];
    p[P] = 0;
#if TABLES
    table += apart > 1 ? lane : 0;
    while (knot + 2 < knots && table[(long)(knot + 1) * (TABLES + 1) * apart] <= t) knot++;
    stop = fmin(end, entered(knot, table, apart, p));
#endif
    masses(&t, y, p, e);
    for (i = 0; i < /*MASSES*/; i++) if (!(e[i] > 0)) state = 2;
    rates(&t, y, p, k1);
    if (WATCHED) watch(&t, y, p, g, r);
    {
    /*BEGIN*/
    /*FIRST STEP*/
    for (n = 0; t < end && state == 0; n++) {
        /*STEP*/
        rates(&tn, yn, p, kn);
        if (WATCHED) watch(&tn, yn, p, gn, rn);
        /*SEE*/
        /*CUT*/
        /*AFTER*/
        UNROLL for (i = 0; i < N; i++) { y[i] = yn[i]; k1[i] = kn[i]; }
        if (WATCHED) { UNROLL for (i = 0; i < G; i++) { g[i] = gn[i]; r[i] = rn[i]; } }
        t = tn;
        if (over) { state = 1; break; }
        /*ACTED*/
        /*LEG*/
    }
    UNROLL for (i = 0; i < S; i++) if (!(fabs(y[i]) < INFINITY)) state = 2;
    /*PROOF*/
    /*LAST*/
    }
    status[lane] = state;
    steps[lane] = (int)n;
}

//-- see
UNROLL for (i = 0; i < G; i++) {
            seen.g[0][i] = g[i]; seen.r[0][i] = r[i]; seen.g[L][i] = gn[i]; seen.r[L][i] = rn[i];
        }
        between(0, t, hh, y, k1, yn, kn, p, &seen);

//-- cut
{
            real cut = 2 * hh, /*DECLARED*/;
            /*ALONG*/
            acts = 0;
            if (cut <= hh) {
                over = /*OVER*/;
                acts = !over && (/*ACTS*/);
                /*NOTED*/
                partly(t, cut, y, k1, p, yn);
                late = 1;
                hh = cut; tn = t + cut;
                rates(&tn, yn, p, kn);
                if (WATCHED) watch(&tn, yn, p, gn, rn);
                UNROLL for (i = 0; i < G; i++) { seen.g[L][i] = gn[i]; seen.r[L][i] = rn[i]; }
                between(1, t, hh, y, k1, yn, kn, p, &seen);
            }
        }

//-- acted
/* Actions that follow each other ever faster are judged elsewhere. */
if (acts) {
            /*ENERGY BEFORE*/
            jumps(&t, y, p, jumped);
            /*JUMPS*/
            /*ENERGY AFTER*/
            rates(&t, y, p, k1);
            watch(&t, y, p, g, r);
            rough(&t, y, p, large, whole);
            if (!(t - lately > (real)1e-7 * (end - begin))) state = 2;
            lately = t;
            /*HELD*/
            /*SIDES*/
        }

//-- jump held
if (!holds(t, y, p, size, 16 * rtol + (real)1e-12)) state = 2;

//-- leg
if (t >= stop && t < end) {
            knot++;
            leg = t; index = 0; late = 0;
            stop = fmin(end, entered(knot, table, apart, p));
            rates(&t, y, p, k1);
            if (WATCHED) watch(&t, y, p, g, r);
            /*LENGTH*/
        }

//-- proof
/* Errors add up along the way: so many tolerances of the largest energy for every step. */
energies(&t, y, p, after);
    if (state < 2) {
        real scale = fmax(fabs(start[0]), fabs(after[0]));
        const real work = after[3] - before[3];
        scale = fmax(scale, fmax(fmax(fabs(start[1]), fabs(after[1])), fabs(work)));
        if (!(fabs(after[2] - before[2] - work) <= (10 * rtol * (n + 1) + (real)1e-11) * scale))
            state = 2;
    }

//-- proof held
    if (state < 2 && !holds(t, y, p, size, 10 * rtol * (n + 1) + (real)1e-11)) state = 2;

//-- fixed length
total = (int)ceil((stop - leg) / step - (real)1e-6);
    if (total < 1) total = 1;
    h = (stop - leg) / total;

//-- fixed step
tn = index + 1 == total ? stop : leg + (index + 1) * h;
        if (late && !(tn > t)) { index++; continue; }
        hh = late ? tn - t : h;
        late = 0;
        advance(t, hh, y, k1, p, yn, 0, 0, 0, 0);
        index++;

//-- adaptive begin
real size[M + N - S], before[4], after[4], start[4];
    {
        /* How large states are or become in the time in which the motion changes; and a first step
           over which none changes by more than a hundredth of that. */
        real place = 0, speed = 0, push = 0, way, time, fast = 0;
        const real bit = (end - t) / 100;
        UNROLL for (i = 0; i < M / 2; i++) {
            place = fmax(place, fabs(y[i])); speed = fmax(speed, fabs(k1[i]));
            push = fmax(push, fabs(k1[M / 2 + i]));
        }
        way = fmax(fmax(place, speed * bit), push * bit * bit);
        if (!(way > 0)) way = 1;
        time = 1 / fmax(fmax(speed / way, sqrt(push / way)), (real)0.1 / bit);
        UNROLL for (i = M / 2; i < M; i++)
            size[i] = fmax(fmax(fabs(y[i]), time * fabs(k1[i])), (real)1e-3 * way / time);
        UNROLL for (i = 0; i < M / 2; i++)
            size[i] = fmax(fmax(fabs(y[i]), time * size[M / 2 + i]), (real)1e-3 * way);
        for (i = S; i < N; i++) size[M + i - S] = fabs(k1[i]) * (end - t);
        UNROLL for (i = 0; i < M; i++) fast = fmax(fast, fabs(k1[i]) / size[i]);
        h = fast > 0 ? (real)0.01 / fast : (end - t) / 16;
        if (!(h < (end - t) / 16)) h = (end - t) / 16;
        energies(&t, y, p, before);
        UNROLL for (i = 0; i < 4; i++) start[i] = before[i];
    }

//-- adaptive step
if (n >= most) { state = 3; break; }
        hh = h;
        if (!(t + hh < stop)) { hh = stop - t; tn = stop; } else tn = t + hh;
        advance(t, hh, y, k1, p, yn, &error, rtol, atol, size);
        if (!(error <= 1)) {
            h = hh * (error == error ? fmax((real)0.2, (real)0.9 / sqrt(sqrt(sqrt(error))))
                                     : (real)0.1);
            if (!(h > 16 * TINY * fabs(t)) || !(h > 1e-15 * (end - begin))) { state = 2; break; }
            continue;
        }
        q = hh * (error > 0 ? fmin((real)6, (real)0.9 / sqrt(sqrt(sqrt(error)))) : 6);
        for (i = S; i < N; i++)
            size[M + i - S] = fmax(size[M + i - S], fabs(yn[i] - y[i]) / hh * (end - begin));
        /* What an end of a leg has made short says nothing of the next step. */
        h = hh < h ? fmax(q, h) : q;

//-- entry
#define ARGUMENTS long count, const real *starts, const real *values, const real *span, \
    const real *table, long apart, int knots, real rtol, real atol, real step, long most, \
    real *out, int *status, int *steps
#define GIVEN count, starts, values, span, table, apart, knots, rtol, atol, step, most, \
    out, status, steps
#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__(BLOCK) run(ARGUMENTS)
{
    long lane = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (lane < count) trajectory(lane, GIVEN);
}
#else
void run(long first, long last, ARGUMENTS)
{
    long lane;
    for (lane = first; lane < last; lane++) trajectory(lane, GIVEN);
}
#endif
