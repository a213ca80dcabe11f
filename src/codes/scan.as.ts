/*
 * A scan of RaBitQ codes (Gao & Long 2024), laid out for table look-ups in registers (André et al. 2015): rows in groups
 * of 32, a group's codes transposed so that byte r of a 32-byte line belongs to row r; each nibble holds the signs of
 * four dimensions and looks up what they add to the product with the query.
 *
 * A block: u32 passage ids, rising, f32 factors, then its groups' lines; see codes/layout.ts. Padding rows have the
 * factor NaN, which is never greater than anything.
 *
 * Results: at `state` i32 count, i32 wanted, i32 capacity, f32 threshold, i32 strict, i32 most ties, i32 count
 * at which to cut (at first 2 · wanted), a word free and room for a group's scores; at `out` `capacity` f32 scores, then
 * as many u32 ids, and as many u32 addresses of rows' finer codes, 0 if there are none. The capacity is at least
 * 2 · wanted + most ties + a group.
 *
 * A row of finer codes: f32 factor, u32 epoch, then groups of 32 values of 4 bits: 16 bytes with the first 16 values in
 * the low nibbles and the others in the high ones; see codes/finer.ts.
 */

const GROUP: i32 = 32

/**
 * Collects the rows of `groups` groups with the best estimates base + factor · (step · sum + least); with a mask, only
 * those whose id has its bit set.
 */
export function scan(
  ids: usize,
  groups: i32,
  lines: i32,
  tables: usize,
  base: f32,
  step: f32,
  least: f32,
  mask: usize,
  maskWords: u32,
  finer: usize,
  stride: usize,
  state: usize,
  out: usize
): void {
  const rows: usize = <usize>(groups * GROUP)
  let factors: usize = ids + (rows << 2)
  let codes: usize = factors + (rows << 2)
  const low = i8x16.splat(15)
  const stepx = f32x4.splat(step)
  const leastx = f32x4.splat(least)
  const basex = f32x4.splat(base)
  const pairs = lines >> 1
  let threshold = load<f32>(state, 12)
  for (let g = 0; g < groups; g++) {
    let chosen: i32 = -1
    if (mask != 0) {
      chosen = bitsOf(ids + ((<usize>(g * GROUP)) << 2), mask, maskWords)
      if (chosen == 0) {
        codes += <usize>(lines * GROUP)
        factors += 128
        continue
      }
    }
    let a0 = i16x8.splat(0)
    let a1 = i16x8.splat(0)
    let b0 = i16x8.splat(0)
    let b1 = i16x8.splat(0)
    let table = tables
    for (let p = 0; p < pairs; p++) {
      const t0 = v128.load(table)
      const t1 = v128.load(table, 16)
      const t2 = v128.load(table, 32)
      const t3 = v128.load(table, 48)
      const c0 = v128.load(codes)
      const d0 = v128.load(codes, 16)
      const c1 = v128.load(codes, 32)
      const d1 = v128.load(codes, 48)
      // Four entries of at most 63 fit in a byte. A shift of bytes compiles to five instructions, this one to two.
      const x = i8x16.add(
        i8x16.add(i8x16.swizzle(t0, v128.and(c0, low)), i8x16.swizzle(t1, v128.and(i16x8.shr_u(c0, 4), low))),
        i8x16.add(i8x16.swizzle(t2, v128.and(c1, low)), i8x16.swizzle(t3, v128.and(i16x8.shr_u(c1, 4), low)))
      )
      const y = i8x16.add(
        i8x16.add(i8x16.swizzle(t0, v128.and(d0, low)), i8x16.swizzle(t1, v128.and(i16x8.shr_u(d0, 4), low))),
        i8x16.add(i8x16.swizzle(t2, v128.and(d1, low)), i8x16.swizzle(t3, v128.and(i16x8.shr_u(d1, 4), low)))
      )
      a0 = i16x8.add(a0, i16x8.extend_low_i8x16_u(x))
      a1 = i16x8.add(a1, i16x8.extend_high_i8x16_u(x))
      b0 = i16x8.add(b0, i16x8.extend_low_i8x16_u(y))
      b1 = i16x8.add(b1, i16x8.extend_high_i8x16_u(y))
      table += 64
      codes += 64
    }
    const limit = f32x4.splat(threshold)
    const s0 = estimate(i32x4.extend_low_i16x8_u(a0), factors, stepx, leastx, basex)
    const s1 = estimate(i32x4.extend_high_i16x8_u(a0), factors + 16, stepx, leastx, basex)
    const s2 = estimate(i32x4.extend_low_i16x8_u(a1), factors + 32, stepx, leastx, basex)
    const s3 = estimate(i32x4.extend_high_i16x8_u(a1), factors + 48, stepx, leastx, basex)
    const s4 = estimate(i32x4.extend_low_i16x8_u(b0), factors + 64, stepx, leastx, basex)
    const s5 = estimate(i32x4.extend_high_i16x8_u(b0), factors + 80, stepx, leastx, basex)
    const s6 = estimate(i32x4.extend_low_i16x8_u(b1), factors + 96, stepx, leastx, basex)
    const s7 = estimate(i32x4.extend_high_i16x8_u(b1), factors + 112, stepx, leastx, basex)
    const m0 = v128.or(
      v128.or(f32x4.ge(s0, limit), f32x4.ge(s1, limit)),
      v128.or(f32x4.ge(s2, limit), f32x4.ge(s3, limit))
    )
    const m1 = v128.or(
      v128.or(f32x4.ge(s4, limit), f32x4.ge(s5, limit)),
      v128.or(f32x4.ge(s6, limit), f32x4.ge(s7, limit))
    )
    if (v128.any_true(v128.or(m0, m1))) {
      const at = state + 32
      v128.store(at, s0)
      v128.store(at, s1, 16)
      v128.store(at, s2, 32)
      v128.store(at, s3, 48)
      v128.store(at, s4, 64)
      v128.store(at, s5, 80)
      v128.store(at, s6, 96)
      v128.store(at, s7, 112)
      const hits: i32 =
        (i32x4.bitmask(f32x4.ge(s0, limit)) |
          (i32x4.bitmask(f32x4.ge(s1, limit)) << 4) |
          (i32x4.bitmask(f32x4.ge(s2, limit)) << 8) |
          (i32x4.bitmask(f32x4.ge(s3, limit)) << 12) |
          (i32x4.bitmask(f32x4.ge(s4, limit)) << 16) |
          (i32x4.bitmask(f32x4.ge(s5, limit)) << 20) |
          (i32x4.bitmask(f32x4.ge(s6, limit)) << 24) |
          (i32x4.bitmask(f32x4.ge(s7, limit)) << 28)) &
        chosen
      if (hits != 0) {
        const first = <usize>(g * GROUP)
        keep(at, hits, ids + (first << 2), finer == 0 ? 0 : finer + first * stride, stride, state, out)
        threshold = load<f32>(state, 12)
      }
    }
    factors += 128
  }
}

function estimate(sums: v128, factors: usize, step: v128, least: v128, base: v128): v128 {
  return f32x4.add(base, f32x4.mul(v128.load(factors), f32x4.add(least, f32x4.mul(step, f32x4.convert_i32x4_s(sums)))))
}

/** The mask's bits of a group's rows. Ids rise within a block, so the bits are usually consecutive too. */
function bitsOf(ids: usize, mask: usize, maskWords: u32): i32 {
  const first = load<u32>(ids)
  const word = first >> 5
  const shift = first & 31
  if (load<u32>(ids, 124) - first == 31 && word + 1 < maskWords) {
    const at = mask + ((<usize>word) << 2)
    return <i32>(<u32>(load<u64>(at) >> shift))
  }
  let bits: u32 = 0
  for (let r: u32 = 0; r < 32; r++) {
    const id = load<u32>(ids + (r << 2))
    if (id >> 5 >= maskWords) continue
    bits |= ((load<u32>(mask + ((<usize>(id >> 5)) << 2)) >>> (id & 31)) & 1) << r
  }
  return <i32>bits
}

/** Appends a group's hits, and raises the threshold whenever enough hits have been added. */
function keep(scores: usize, hits: i32, ids: usize, finer: usize, stride: usize, state: usize, out: usize): void {
  const capacity = load<i32>(state, 8)
  const strict = load<i32>(state, 16)
  const threshold = load<f32>(state, 12)
  let count = load<i32>(state)
  while (hits != 0) {
    const row = <usize>ctz(hits)
    const r = row << 2
    hits &= hits - 1
    const id = load<u32>(ids + r)
    const score = load<f32>(scores + r)
    if (strict != 0 && score <= threshold) continue
    const at = out + ((<usize>count) << 2)
    store<f32>(at, score)
    store<u32>(at + ((<usize>capacity) << 2), id)
    store<u32>(at + ((<usize>capacity) << 3), finer == 0 ? 0 : <u32>(finer + row * stride))
    count++
  }
  store<i32>(state, count)
  if (count >= load<i32>(state, 24)) cut(state, out)
}

/**
 * Estimates again what was collected, by the finer codes: bases[epoch] + factor · step · sum over `groups` groups of 32
 * values. `query` has an i16 for each value. Then keeps the best `wanted` of them, and all that have no finer codes.
 */
export function refine(
  query: usize,
  groups: i32,
  step: f32,
  bases: usize,
  wanted: i32,
  state: usize,
  out: usize
): void {
  const count = load<i32>(state)
  const capacity = load<i32>(state, 8)
  const low = i8x16.splat(15)
  let without = 0
  for (let i = 0; i < count; i++) {
    const at = out + ((<usize>i) << 2)
    const row: usize = load<u32>(at + ((<usize>capacity) << 3))
    if (row == 0) {
      store<f32>(at, Infinity)
      without++
      continue
    }
    let sums = i32x4.splat(0)
    let code = row + 8
    let values = query
    for (let g = 0; g < groups; g++) {
      const bytes = v128.load(code)
      // A level from 0 to 15 stands for the odd value 2 · level - 15.
      const a = v128.and(bytes, low)
      const b = v128.and(i16x8.shr_u(bytes, 4), low)
      const x = i8x16.sub(i8x16.add(a, a), low)
      const y = i8x16.sub(i8x16.add(b, b), low)
      sums = i32x4.add(sums, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(x), v128.load(values)))
      sums = i32x4.add(sums, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(x), v128.load(values, 16)))
      sums = i32x4.add(sums, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(y), v128.load(values, 32)))
      sums = i32x4.add(sums, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(y), v128.load(values, 48)))
      code += 16
      values += 64
    }
    const sum =
      i32x4.extract_lane(sums, 0) +
      i32x4.extract_lane(sums, 1) +
      i32x4.extract_lane(sums, 2) +
      i32x4.extract_lane(sums, 3)
    store<f32>(at, load<f32>(bases + ((<usize>load<u32>(row, 4)) << 2)) + load<f32>(row) * step * <f32>sum)
  }
  store<i32>(state, wanted + without, 4)
  cut(state, out)
}

/** Keeps the best `wanted` and all that tie with the last of them, in no order. */
export function cut(state: usize, out: usize): void {
  const count = load<i32>(state)
  const wanted = load<i32>(state, 4)
  const capacity = load<i32>(state, 8)
  const idsOf = out + ((<usize>capacity) << 2)
  const rowsOf = out + ((<usize>capacity) << 3)
  if (count <= wanted) return
  let left = 0
  let right = count - 1
  const k = wanted - 1
  while (left < right) {
    const pivot = load<f32>(out + ((<usize>((left + right) >> 1)) << 2))
    let i = left
    let j = right
    while (i <= j) {
      while (load<f32>(out + ((<usize>i) << 2)) > pivot) i++
      while (load<f32>(out + ((<usize>j) << 2)) < pivot) j--
      if (i <= j) {
        swap(out, i, j)
        swap(idsOf, i, j)
        swap(rowsOf, i, j)
        i++
        j--
      }
    }
    if (k <= j) right = j
    else if (k >= i) left = i
    else break
  }
  const threshold = load<f32>(out + ((<usize>k) << 2))
  const room = wanted + load<i32>(state, 20)
  let kept = wanted
  for (let i = wanted; i < count && kept < room; i++) {
    if (load<f32>(out + ((<usize>i) << 2)) < threshold) continue
    swap(out, i, kept)
    swap(idsOf, i, kept)
    swap(rowsOf, i, kept)
    kept++
  }
  store<i32>(state, kept)
  store<f32>(state, threshold, 12)
  store<i32>(state, kept + wanted, 24)
  // If ties fill the room, no more of them are added.
  store<i32>(state, kept == room ? 1 : 0, 16)
}

function swap(base: usize, i: i32, j: i32): void {
  const a = base + ((<usize>i) << 2)
  const b = base + ((<usize>j) << 2)
  const x = load<u32>(a)
  store<u32>(a, load<u32>(b))
  store<u32>(b, x)
}
