// Products and squares of float vectors, summed in order in single precision, as sqlite-vec sums them.

/**
 * For `count` rows of `width` floats, a multiple of 4, given by their numbers at `rows`: their products with the vector at
 * `query`, and behind `room` of them their squares. What is at `off` is taken off the rows first; 0: nothing. The numbers
 * are filled up to a multiple of 4.
 */
export function products(
  rows: usize,
  count: u32,
  base: usize,
  width: u32,
  query: usize,
  off: usize,
  out: usize,
  room: u32
): void {
  const stride = <usize>width * 4
  for (let r: usize = 0; r < <usize>count * 4; r += 16) {
    const a = base + <usize>load<u32>(rows + r) * stride
    const b = base + <usize>load<u32>(rows + r, 4) * stride
    const c = base + <usize>load<u32>(rows + r, 8) * stride
    const d = base + <usize>load<u32>(rows + r, 12) * stride
    let both = f32x4.splat(0)
    let square = f32x4.splat(0)
    for (let at: usize = 0; at < stride; at += 16) {
      let w = v128.load(a + at)
      let x = v128.load(b + at)
      let y = v128.load(c + at)
      let z = v128.load(d + at)
      if (off !== 0) {
        const less = v128.load(off + at)
        w = f32x4.sub(w, less)
        x = f32x4.sub(x, less)
        y = f32x4.sub(y, less)
        z = f32x4.sub(z, less)
      }
      // A lane for each row, so that four sums go on at once, each in order.
      const wx = i32x4.shuffle(w, x, 0, 4, 1, 5)
      const yz = i32x4.shuffle(y, z, 0, 4, 1, 5)
      const first = i32x4.shuffle(wx, yz, 0, 1, 4, 5)
      const second = i32x4.shuffle(wx, yz, 2, 3, 6, 7)
      const wxEnd = i32x4.shuffle(w, x, 2, 6, 3, 7)
      const yzEnd = i32x4.shuffle(y, z, 2, 6, 3, 7)
      const third = i32x4.shuffle(wxEnd, yzEnd, 0, 1, 4, 5)
      const fourth = i32x4.shuffle(wxEnd, yzEnd, 2, 3, 6, 7)
      both = f32x4.add(both, f32x4.mul(first, v128.load32_splat(query + at)))
      square = f32x4.add(square, f32x4.mul(first, first))
      both = f32x4.add(both, f32x4.mul(second, v128.load32_splat(query + at, 4)))
      square = f32x4.add(square, f32x4.mul(second, second))
      both = f32x4.add(both, f32x4.mul(third, v128.load32_splat(query + at, 8)))
      square = f32x4.add(square, f32x4.mul(third, third))
      both = f32x4.add(both, f32x4.mul(fourth, v128.load32_splat(query + at, 12)))
      square = f32x4.add(square, f32x4.mul(fourth, fourth))
    }
    v128.store(out + r, both)
    v128.store(out + <usize>room * 4 + r, square)
  }
}
