// The official score at any threshold, from the pairs that the rule has matched.
// A threshold only drops pairs of lower score, so they are sorted once and summed in that order; what every distinct
// score leads to is kept, and a position of the slider is one binary search.
function countsModel(live) {
  const levels = live.levels.length;
  const entries = sortedEntries(live);
  const sums = prefixSums(live, entries, levels);
  const at = threshold => firstBelow(sums.distinct, threshold);
  const scores = live.predicted?.map(score => (Number.isNaN(score) ? Infinity : score)).sort().reverse();

  return {
    kind: 'counts',
    range: scoreRange(entries.score),
    scoreAt: threshold => sums.value[at(threshold)],
    countsAt(threshold) {
      const row = at(threshold) * levels;
      const [tp, fp] = [sums.tp, sums.fp].map(counts => Array.from(counts.subarray(row, row + levels)));
      return {levels: live.levels, tp, fp, fn: tp.map(hits => sums.truths - hits)};
    },
    // Every prediction is a hit or a false positive at the first level, unless the page has the scores of all.
    predictionsAt: threshold => (scores ? firstBelow(scores, threshold)
      : sums.tp[at(threshold) * levels] + sums.fp[at(threshold) * levels]),
    itemScoreAt: itemScores(live, entries, levels),
  };
}

// All contributions by descending score. Where there are no scores, no threshold drops them.
function sortedEntries({tp, fp}) {
  const size = tp.score.length + fp.score.length;
  const score = new Float64Array(size);
  score.set(tp.score);
  score.set(fp.score, tp.score.length);
  for (let at = 0; at < size; at++) if (Number.isNaN(score[at])) score[at] = Infinity;
  const order = new Uint32Array(size);
  for (let at = 0; at < size; at++) order[at] = at;
  order.sort((a, b) => (score[a] === score[b] ? a - b : score[b] - score[a]));
  const entries = {
    score: new Float64Array(size),
    item: new Int32Array(size),
    levels: new Uint32Array(size),
    hit: new Uint8Array(size),
  };
  order.forEach((from, to) => {
    const hit = from < tp.score.length;
    const row = hit ? from : from - tp.score.length;
    entries.score[to] = score[from];
    entries.item[to] = (hit ? tp : fp).item[row];
    entries.levels[to] = (hit ? tp : fp).levels[row];
    entries.hit[to] = hit ? 1 : 0;
  });
  return entries;
}

// For each number of distinct scores that are kept, none to all: the score, and the counts at each level.
function prefixSums(live, entries, levels) {
  const size = entries.score.length;
  const items = live.truths.length;
  let groups = 0;
  for (let at = 0; at < size; at++) if (at === 0 || entries.score[at] !== entries.score[at - 1]) groups++;
  const distinct = new Float64Array(groups);
  const value = new Float64Array(groups + 1);
  const tp = new Uint32Array((groups + 1) * levels);
  const fp = new Uint32Array((groups + 1) * levels);
  const truths = live.truths.reduce((sum, one) => sum + one, 0);
  const counts = newCounts(live.truths, levels);
  const totals = newCounts([truths], levels);
  const own = new Float64Array(items);
  const running = {sum: 0, counted: 0};

  const count = (item, sign) => {
    if (Number.isNaN(own[item])) return;
    running.sum += sign * own[item];
    running.counted += sign;
  };
  for (let item = 0; item < items; item++) {
    own[item] = meanOfLevels(live, counts, item, levels);
    count(item, 1);
  }
  const overall = live.formula.pooled
    ? () => meanOfLevels(live, totals, 0, levels)
    : () => running.sum / running.counted;
  value[0] = overall();
  let at = 0;
  for (let group = 0; group < groups; group++) {
    distinct[group] = entries.score[at];
    for (; at < size && entries.score[at] === distinct[group]; at++) {
      const item = entries.item[at];
      addEntry(totals, 0, entries, at, levels);
      if (live.formula.pooled) continue;
      count(item, -1);
      addEntry(counts, item, entries, at, levels);
      own[item] = meanOfLevels(live, counts, item, levels);
      count(item, 1);
    }
    value[group + 1] = overall();
    tp.set(totals.tp, (group + 1) * levels);
    fp.set(totals.fp, (group + 1) * levels);
  }
  return {distinct, value, tp, fp, truths};
}

function newCounts(truths, levels) {
  return {truths, tp: new Int32Array(truths.length * levels), fp: new Int32Array(truths.length * levels)};
}

function addEntry(counts, item, entries, at, levels) {
  const into = entries.hit[at] ? counts.tp : counts.fp;
  const mask = entries.levels[at];
  for (let level = 0; level < levels; level++) into[item * levels + level] += (mask >>> level) & 1;
}

// The score of one item: the formula, averaged over levels; NaN where nothing is there and that is not counted.
function meanOfLevels({formula}, counts, item, levels) {
  let sum = 0;
  for (let level = 0; level < levels; level++) {
    const hits = counts.tp[item * levels + level];
    const gain = formula.tp * hits;
    const rest = formula.fp * counts.fp[item * levels + level] + formula.fn * (counts.truths[item] - hits);
    sum += gain + rest > 0 ? gain / (gain + rest) : formula.empty ?? NaN;
  }
  return sum / levels;
}

// A function of item and threshold: the item's own score.
function itemScores(live, entries, levels) {
  const rows = new Map();
  entries.item.forEach((item, at) => {
    if (!rows.has(item)) rows.set(item, []);
    rows.get(item).push(at);
  });
  return (item, threshold) => {
    const counts = newCounts([live.truths[item]], levels);
    for (const at of rows.get(item) || []) {
      if (entries.score[at] < threshold) break;
      addEntry(counts, 0, entries, at, levels);
    }
    return meanOfLevels(live, counts, 0, levels);
  };
}

// How many of the descending scores are not below the threshold.
function firstBelow(descending, threshold) {
  let low = 0, high = descending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (descending[middle] >= threshold) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The slider's range: 0 to 1 where scores are probabilities, else all scores.
function scoreRange(scores) {
  let low = 0, high = 1;
  for (const score of scores) {
    if (!Number.isFinite(score)) continue;
    if (score < low) low = score;
    if (score > high) high = score;
  }
  return [low, high];
}
