// The gallery: one card for each scene, which opens it; counts and outlines follow the threshold.
function galleryGrid() {
  const cards = data.scenes.map(makeCard);
  const empty = el('p', {class: 'quiet', hidden: true}, `No ${data.medium} fits these filters.`);
  const ratios = data.scenes.filter(scene => scene.image).map(scene => scene.width / scene.height).sort((a, b) => a - b);
  const ratio = Math.min(2.4, Math.max(0.8, ratios[ratios.length >> 1] || 4 / 3));
  const grid = el('div', {class: `scenes${ratio > 1.6 ? ' wide' : ''}`, style: `--ratio:${ratio.toFixed(3)}`},
    ...cards.map(card => card.node));

  const draw = () => cards.forEach(card => card.draw());
  const arrange = () => {
    const shown = shownScenes();
    const place = new Map(shown.map((scene, at) => [scene.index, at]));
    for (const card of cards) card.node.hidden = !place.has(card.scene.index);
    grid.append(...shown.map(scene => cards[scene.index].node));
    empty.hidden = shown.length > 0;
  };
  listen('threshold', onceAFrame(() => { draw(); if (followsThreshold()) arrange(); }));
  listen('filters', arrange);
  listen('marks', draw);
  draw();
  arrange();
  return el('div', {}, grid, empty);
}

function makeCard(scene) {
  const overlay = svgEl('svg', {viewBox: `0 0 ${scene.width} ${scene.height}`, 'aria-hidden': 'true'});
  const counts = el('span', {class: 'counts-line'});
  const score = el('span', {class: 'item-score'});
  const badge = el('span', {class: 'badge'});
  const node = el('a', {class: 'scene', href: permalink(scene), 'data-key': scene.key},
    el('span', {class: 'picture'},
      scene.image ? el('img', {src: scene.image, alt: '', loading: 'lazy', decoding: 'async'}) : el('span', {class: 'nothing'}, noPicture()),
      overlay, badge),
    el('span', {class: 'text'},
      scene.tags.length > 0 && el('span', {class: 'tags'}, scene.tags.join(' · ')),
      el('span', {class: 'line'}, el('b', {title: scene.id}, sceneName(scene)), score),
      scene.facts.length > 0 && el('span', {class: 'facts-line'}, scene.facts.join(' · ')),
      counts));
  let drawn = '';
  const draw = () => {
    const entries = sceneEntries(scene);
    const mark = markSummary(scene);
    const value = data.hasTruth ? sceneScore(scene) : NaN;
    const now = `${entries.length}|${state.k}|${value}|${mark}|${entries.filter(one => one.outcome === 'missed').length}`;
    if (now === drawn) return;
    drawn = now;
    overlay.replaceChildren(...cardPaths(entries));
    score.textContent = Number.isFinite(value) && !scene.ranking ? value.toFixed(3) : '';
    counts.replaceChildren(...(scene.ranking ? rankingLine(scene) : countsLine(entries)));
    badge.textContent = mark;
    badge.hidden = !mark;
  };
  return {scene, node, draw};
}

// One path for all objects of an outcome: a card with a hundred boxes stays a handful of elements.
function cardPaths(entries) {
  const joined = new Map();
  for (const {object, outcome} of entries) {
    if (object.path) joined.set(outcome, (joined.get(outcome) || '') + object.path);
  }
  return [...joined].flatMap(([outcome, path]) => strokes(path, outcome));
}

function countsLine(entries) {
  const counts = countOutcomes(entries);
  const shown = Object.keys(OUTCOMES).filter(outcome => outcome !== 'found' && counts[outcome] > 0);
  if (shown.length === 0) return [`no ${data.noun[1]}`];
  return shown.map(outcome => el('span', {class: 'count', title: OUTCOMES[outcome][1]},
    swatch(outcome), `${formatCount(counts[outcome])} ${OUTCOMES[outcome][counts[outcome] === 1 ? 0 : 1]}`));
}

function rankingLine(scene) {
  const first = scene.ranking[0];
  const right = scene.ranking.find(one => one.right);
  const chance = first?.probability ?? null;
  return [
    el('span', {class: 'count'}, first?.right ? '✓ ' : data.hasTruth ? '✗ ' : '', first ? first.name : 'no label',
      chance === null ? '' : ` ${formatPercent(chance)}`),
    right && right !== first && el('span', {class: 'count quiet'}, `truth: ${right.name}`),
  ].filter(Boolean);
}

function sceneName(scene) {
  return scene.window ? `${scene.id} ${formatClock(scene.window[0])}` : scene.id;
}

// The score of a scene's item at the threshold; NaN where it has none of its own.
function sceneScore(scene) {
  if (model.kind !== 'totals' && !data.live.formula?.pooled) return model.itemScoreAt(scene.item, state.threshold);
  return data.items.score?.[scene.item] ?? NaN;
}

function noPicture() {
  return `There is no picture of this ${data.medium}: its file was not given or cannot be read.`;
}

function onceAFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; work(); });
  };
}
