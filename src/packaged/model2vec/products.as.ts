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
