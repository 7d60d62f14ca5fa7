// The arithmetic of the draw: pure functions, no page. Python does the same in float64 and is the
// referee; tests hold the two equal to the token.
//
// Tokens stand in one order, likeliest first, and every cut keeps a first part of that order. So
// one array of running sums serves all stages: the cumulative probability of a rank among `left`
// tokens is running[rank] / running[left - 1].

// One float32 rounding: probabilities .5, .3, .2 reach p = .8 with two tokens, although .5 + .3
// falls short of .8 by a hair.
const ROUNDING = 1e-7;

// The order: logits descending, ties by smaller ID. `ids[rank]` is a token ID.
function sortedByLogit(logits) {
  const ids = Uint32Array.from(logits, (_, id) => id);
  ids.sort((a, b) => logits[b] - logits[a] || a - b);
  return { ids, logits: Float64Array.from(ids, (id) => logits[id]) };
}

// settings: {temperature, top_k, top_p, min_p}; top_k 0, top_p 1 and min_p 0 are off.
// Returns the stages in their order, each {name, left, share}, where share is the part of the
// previous stage's probability that is left; how many tokens are kept; their weights, running sums
// and total (the normaliser: probability = weight / total); and their entropy in bits.
function stagesOf(sorted, settings) {
  const weights = weightsOf(sorted.logits, settings.temperature);
  const running = runningSums(weights);
  const stages = [];
  let left = weights.length;
  const keep = (name, count) => {
    stages.push({ name, left: count, share: running[count - 1] / running[left - 1] });
    left = count;
  };
  keep("temperature", settings.temperature === 0 ? 1 : left);
  keep("top_k", afterTopK(sorted.logits, left, settings.top_k));
  keep("top_p", afterTopP(running, left, settings.top_p));
  keep("min_p", afterMinP(weights, left, settings.min_p));
  const total = running[left - 1];
  return { stages, kept: left, weights, running, total, entropy: entropyOf(weights, left, total) };
}

// The rank that u in [0, 1) hits: the first whose cumulative probability passes u.
function drawAt(stages, u) {
  return firstRank(stages.running, stages.kept, (cumulative) => cumulative > u);
}

// exp(z - max z) with z = logit / T. The maximum is taken off first, so nothing overflows.
// At T = 0 the likeliest token has all the weight.
function weightsOf(logits, temperature) {
  const weights = new Float64Array(logits.length);
  if (temperature === 0) {
    weights[0] = 1;
    return weights;
  }
  const largest = logits[0] / temperature;
  for (let rank = 0; rank < logits.length; rank += 1) {
    weights[rank] = Math.exp(logits[rank] / temperature - largest);
  }
  return weights;
}

function runningSums(weights) {
  const running = new Float64Array(weights.length);
  let sum = 0;
  for (let rank = 0; rank < weights.length; rank += 1) {
    sum += weights[rank];
    running[rank] = sum;
  }
  return running;
}

// Tokens level with the k-th largest logit stay too, as in transformers.
function afterTopK(logits, left, k) {
  if (k === 0 || k >= left) return left;
  let count = k;
  while (count < left && logits[count] === logits[k - 1]) count += 1;
  return count;
}

// The shortest first part that holds p of the probability.
function afterTopP(running, left, p) {
  if (p >= 1) return left;
  return 1 + firstRank(running, left, (cumulative) => cumulative >= p - ROUNDING);
}

// Tokens at least minP times as likely as the likeliest.
function afterMinP(weights, left, minP) {
  let count = 1;
  while (count < left && weights[count] >= minP * weights[0]) count += 1;
  return count;
}

// The first rank whose cumulative probability is enough, or the last of `left` if none is.
// Running sums never fall, so the search may halve.
function firstRank(running, left, enough) {
  let low = 0;
  let high = left - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (enough(running[middle] / running[left - 1])) high = middle;
    else low = middle + 1;
  }
  return low;
}

function entropyOf(weights, left, total) {
  let bits = 0;
  for (let rank = 0; rank < left && weights[rank] > 0; rank += 1) {
    const probability = weights[rank] / total;
    bits -= probability * Math.log2(probability);
  }
  return bits;
}
