// Products of rows of signed bytes, padded with zeros to a multiple of 16.

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

/**
 * For each of `count` rows at `rows`, writes its cosines with the first `wanted` rows there to `out`, f32; 0 for a row of
 * zeros. `squares` has room for an f64 of each wanted row.
 */
export function cosines(rows: usize, count: u32, wanted: u32, width: usize, out: usize, squares: usize): void {
  for (let w: u32 = 0; w < wanted; w++) {
    const row = rows + <usize>w * width
    store<f64>(squares + 8 * <usize>w, <f64>product(row, row, width))
  }
  for (let r: u32 = 0; r < count; r++) {
    const row = rows + <usize>r * width
    const square = r < wanted ? load<f64>(squares + 8 * <usize>r) : <f64>product(row, row, width)
    for (let w: u32 = 0; w < wanted; w++) {
      const both = square * load<f64>(squares + 8 * <usize>w)
      store<f32>(out, both === 0 ? 0 : <f32>(<f64>product(row, rows + <usize>w * width, width) / Math.sqrt(both)))
      out += 4
    }
  }
}
