import { assert, describe, it } from "@effect/vitest"
import { ageInDays, decay, timeOf } from "../../src/ranking/recency.ts"

describe("timeOf", () => {
  it("reads ISO 8601, years, and seconds and milliseconds since the epoch", () => {
    const noon = Date.UTC(2024, 4, 6, 12)
    for (const value of [
      "2024-05-06T12:00:00Z",
      "2024-05-06 12:00",
      "2024-05-06T14:00+02:00",
      "2024-05-06T06:30:00.5-0530"
    ]) {
      assert.strictEqual(timeOf(value), noon, value)
    }
    assert.strictEqual(timeOf(noon), noon)
    assert.strictEqual(timeOf(noon / 1000), noon)
    assert.strictEqual(timeOf(" 2024-05-06 "), Date.UTC(2024, 4, 6))
    assert.strictEqual(timeOf("2024-05"), Date.UTC(2024, 4, 1))
    for (const value of [2024, "2024"]) assert.strictEqual(timeOf(value), Date.UTC(2024, 0, 1))
  })

  it("reads nothing that may mean several days, or none", () => {
    for (const value of [
      "May 6",
      "06/05/24",
      "2024-06-31",
      "2024-13",
      "2024-05-06T24:00",
      "",
      "20240506",
      true,
      null
    ]) {
      assert.isUndefined(timeOf(value), String(value))
    }
    for (const value of [0, -5, 7, 2024.5, NaN, Infinity, ["2024"], { date: "2024" }]) assert.isUndefined(timeOf(value))
  })

  it("leaves half of a score after each half-life, and all of what is still to come", () => {
    const now = Date.UTC(2024, 0, 31)
    assert.strictEqual(decay(ageInDays(Date.UTC(2024, 0, 1), now), 30), 0.5)
    assert.strictEqual(decay(ageInDays(Date.UTC(2024, 0, 1), now), 15), 0.25)
    assert.strictEqual(decay(ageInDays(Date.UTC(2030, 0, 1), now), 15), 1)
  })
})
