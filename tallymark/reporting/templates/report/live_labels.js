// Top-k error among accepted items: those whose first label has at least the probability of the slider.
function labelsModel(live) {
  const items = live.rank.length;
  const probability = live.probability.map(one => (Number.isNaN(one) ? Infinity : one));
  const order = Uint32Array.from(probability, (_, at) => at).sort((a, b) => probability[b] - probability[a]);
  const sorted = Float64Array.from(order, at => probability[at]);
  const right = Array.from({length: live.k + 1}, () => new Uint32Array(items + 1));
  order.forEach((item, at) => {
    for (let k = 1; k <= live.k; k++) {
      right[k][at + 1] = right[k][at] + (live.rank[item] >= 1 && live.rank[item] <= k ? 1 : 0);
    }
  });
  return {
    kind: 'labels',
    range: scoreRange(sorted),
    scoreAt(threshold) {
      const accepted = firstBelow(sorted, threshold);
      return accepted ? 1 - right[state.k][accepted] / accepted : NaN;
    },
    countsAt(threshold) {
      const accepted = firstBelow(sorted, threshold);
      const hits = right[state.k][accepted];
      return {k: state.k, items, accepted, right: hits, wrong: accepted - hits, rejected: items - accepted};
    },
    itemScoreAt: item => (live.rank[item] >= 1 && live.rank[item] <= state.k ? 0 : 1),
  };
}

// Without truth: how many predictions there are, of all items where the page has them, else of the shown ones.
function totalsModel() {
  const descending = Float64Array.from(allScores(), one => (Number.isNaN(one) ? Infinity : one)).sort().reverse();
  return {
    kind: 'totals',
    shownOnly: !data.live,
    range: scoreRange(descending),
    scoreAt: threshold => firstBelow(descending, threshold),
    countsAt: threshold => ({predictions: firstBelow(descending, threshold), all: descending.length}),
    predictionsAt: threshold => firstBelow(descending, threshold),
    itemScoreAt: () => NaN,
  };
}

function allScores() {
  if (data.live?.kind === 'labels') return data.live.probability;
  if (data.live?.kind === 'scores') return data.live.score;
  if (data.live) return [...data.live.tp.score, ...data.live.fp.score];
  const shown = data.scenes.flatMap(scene => scene.objects).filter(one => one.role === 'prediction');
  return shown.map(one => one.score ?? NaN);
}

function makeModel() {
  if (!data.hasTruth || !data.live) return totalsModel();
  return data.live.kind === 'labels' ? labelsModel(data.live) : countsModel(data.live);
}
