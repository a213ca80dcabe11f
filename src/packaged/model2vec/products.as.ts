// Products and sums of rows of signed bytes, padded with zeros to a multiple of 16.

/** The last two of four integers, as floats. */
function last(four: v128): v128 {
  return f64x2.convert_low_i32x4_s(v128.shuffle<i32>(four, four, 2, 3, 2, 3))
}

/**
 * Writes Σ weight · row, f64, to `sums`: the sum over `count` rows, whose addresses, u32, are at `offsets`, and whose
 * weights, f64, are at `weights`.
 */
export function pool(count: u32, offsets: usize, weights: usize, dimensions: usize, sums: usize): void {
  for (let d: usize = 0; d < dimensions; d += 16) {
    let a = f64x2.splat(0)
    let b = a
    let c = a
    let e = a
    let f = a
    let g = a
    let h = a
    let i = a
    for (let t: usize = 0; t < <usize>count; t++) {
      const weight = v128.load_splat<f64>(weights + 8 * t)
      const bytes = v128.load(<usize>load<u32>(offsets + 4 * t) + d)
      const low = i16x8.extend_low_i8x16_s(bytes)
      const high = i16x8.extend_high_i8x16_s(bytes)
      const first = i32x4.extend_low_i16x8_s(low)
      const second = i32x4.extend_high_i16x8_s(low)
      const third = i32x4.extend_low_i16x8_s(high)
      const fourth = i32x4.extend_high_i16x8_s(high)
      a = f64x2.add(a, f64x2.mul(weight, f64x2.convert_low_i32x4_s(first)))
      b = f64x2.add(b, f64x2.mul(weight, last(first)))
      c = f64x2.add(c, f64x2.mul(weight, f64x2.convert_low_i32x4_s(second)))
      e = f64x2.add(e, f64x2.mul(weight, last(second)))
      f = f64x2.add(f, f64x2.mul(weight, f64x2.convert_low_i32x4_s(third)))
      g = f64x2.add(g, f64x2.mul(weight, last(third)))
      h = f64x2.add(h, f64x2.mul(weight, f64x2.convert_low_i32x4_s(fourth)))
      i = f64x2.add(i, f64x2.mul(weight, last(fourth)))
    }
    const out = sums + 8 * d
    v128.store(out, a)
    v128.store(out, b, 16)
    v128.store(out, c, 32)
    v128.store(out, e, 48)
    v128.store(out, f, 64)
    v128.store(out, g, 80)
    v128.store(out, h, 96)
    v128.store(out, i, 112)
  }
}

function product(a: usize, b: usize, width: usize): i32 {
  let sum = i32x4.splat(0)
  for (let d: usize = 0; d < width; d += 16) {
    const x = v128.load(a + d)
    const y = v128.load(b + d)
    sum = i32x4.add(sum, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(x), i16x8.extend_low_i8x16_s(y)))
    sum = i32x4.add(sum, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(x), i16x8.extend_high_i8x16_s(y)))
  }
  return (
    i32x4.extract_lane(sum, 0) + i32x4.extract_lane(sum, 1) + i32x4.extract_lane(sum, 2) + i32x4.extract_lane(sum, 3)
  )
}

/** The length of a row, squared. */
export function square(row: usize, width: usize): f64 {
  return <f64>product(row, row, width)
}

/**
 * For each of the `count` rows that `list` numbers, u32, writes its cosines with the first `wanted` of them to `out`, f32; 0
 * for a row of zeros. `squares` has each row's length squared, f64, by its number.
 */
export function cosines(
  rows: usize,
  squares: usize,
  list: usize,
  count: u32,
  wanted: u32,
  width: usize,
  out: usize
): void {
  for (let r: u32 = 0; r < count; r++) {
    const number = <usize>load<u32>(list + 4 * <usize>r)
    const row = rows + number * width
    const square = load<f64>(squares + 8 * number)
    for (let w: u32 = 0; w < wanted; w++) {
      const other = <usize>load<u32>(list + 4 * <usize>w)
      const both = square * load<f64>(squares + 8 * other)
      store<f32>(out, both === 0 ? 0 : <f32>(<f64>product(row, rows + other * width, width) / Math.sqrt(both)))
      out += 4
    }
  }
}
