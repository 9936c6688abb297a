import assert from "node:assert/strict";
import { test } from "node:test";
import { jensenShannon, lowerBound } from "../../../src/rnnlens/page/web/base/divergence.js";

/** Numbers that are the same in every run of the test. */
function random(seed) {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

function distribution(next, size, sharpness) {
  const raw = Array.from({ length: size }, () => next() ** sharpness);
  const sum = raw.reduce((a, b) => a + b);
  return raw.map((value) => value / sum);
}

/** By the definition: the mean of two Kullback-Leibler divergences to the middle. */
function brute(p, q) {
  const kl = (a, b) => a.reduce((sum, value, k) => sum + (value ? value * Math.log2(value / b[k]) : 0), 0);
  const m = p.map((value, k) => (value + q[k]) / 2);
  return (kl(p, m) + kl(q, m)) / 2;
}

const top = (p, count) => p.map((value, k) => [`w${k}`, value]).sort((a, b) => b[1] - a[1]).slice(0, count);

test("known values", () => {
  assert.equal(jensenShannon([1, 0], [0, 1]), 1);
  assert.equal(jensenShannon([0.5, 0.5], [0.5, 0.5]), 0);
  assert.ok(Math.abs(jensenShannon([1, 0], [0.5, 0.5]) - 0.31127812445913283) < 1e-12);
});

test("it agrees with the definition", () => {
  const next = random(1);
  for (let k = 0; k < 200; k++) {
    const p = distribution(next, 30, 4), q = distribution(next, 30, 4);
    assert.ok(Math.abs(jensenShannon(p, q) - brute(p, q)) < 1e-12);
  }
});

test("the bound never exceeds the truth, and is worth something where the lists share labels", () => {
  const next = random(2);
  let useful = 0;
  for (let k = 0; k < 500; k++) {
    const sharpness = 1 + 20 * next(), p = distribution(next, 60, sharpness), q = distribution(next, 60, sharpness);
    const truth = brute(p, q), bound = lowerBound(top(p, 20), top(q, 20));
    assert.ok(bound <= truth + 1e-12, `${bound} > ${truth}`);
    useful += bound > truth / 2 ? 1 : 0;
  }
  assert.ok(useful > 400, `only ${useful} of 500 bounds are near`);
});

test("with every label in both lists the bound is exact", () => {
  const next = random(3), p = distribution(next, 15, 3), q = distribution(next, 15, 3);
  assert.ok(Math.abs(lowerBound(top(p, 15), top(q, 15)) - brute(p, q)) < 1e-9);
});

test("nothing in common is far apart where little is left for the others", () => {
  assert.ok(lowerBound([["a", 0.99]], [["b", 0.99]]) > 0.9);
  assert.ok(lowerBound([["a", 0.1]], [["b", 0.1]]) < 1e-9, "each may find the other's as probable");
});

test("odd labels are labels", () => {
  assert.ok(lowerBound([["__proto__", 0.9], ["b", 0.05]], [["__proto__", 0.1], ["b", 0.05]]) > 0.2);
});
