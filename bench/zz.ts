import { terms, queryTerms } from "../src/text/terms.ts"
import { raised, lowered } from "../src/files/Loader/extract/raised.ts"
console.log(terms("H₂O 2^64 CO₂ x_i"), queryTerms("H2O 2^64"), terms("H2O CO2"))
console.log(
  raised("64", "2"),
  raised("6", "10"),
  raised("st", "the 1"),
  raised("e", "XIX"),
  raised("3", "some words"),
  raised("2", "30 m"),
  raised("n-1", "2"),
  raised("−6", "10"),
  raised("e", "x"),
  raised("T", "A"),
  lowered("2"),
  lowered("i"),
  lowered("max, i"),
  raised("2", "metres")
)
