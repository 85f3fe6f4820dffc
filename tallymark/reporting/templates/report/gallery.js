// The gallery: one card for each scene, which opens it; counts and outlines follow the threshold.
function galleryGrid() {
  const cards = data.scenes.map(makeCard);
  const empty = el('p', {class: 'quiet', hidden: true}, `No ${sceneNoun()} fits these filters.`);
  const ratio = typicalRatio();
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

// Width by height of most pictures, so that cards are of one size.
function typicalRatio() {
  const ratios = data.scenes.map(scene => scene.width / scene.height).sort((a, b) => a - b);
  return Math.min(2.4, Math.max(0.8, ratios[ratios.length >> 1] || 4 / 3));
}

function makeCard(scene) {
  const overlay = svgEl('svg', {viewBox: `0 0 ${scene.width} ${scene.height}`, 'aria-hidden': 'true'});
  const counts = el('span', {class: 'counts-line'});
  const score = el('span', {class: 'item-score'});
  const badge = el('span', {class: 'badge'});
  const node = el('a', {class: 'scene', href: permalink(scene), 'data-key': scene.key},
    el('span', {class: 'picture'},
      scene.image && el('img', {src: scene.image, alt: '', loading: 'lazy', decoding: 'async'}),
      overlay, badge, !scene.image && el('span', {class: 'nothing'}, noPicture())),
    el('span', {class: 'text'},
      scene.tags.length > 0 && el('span', {class: 'tags'}, scene.tags.join(' · ')),
      el('span', {class: 'line'}, el('b', {title: scene.id}, sceneName(scene)), score),
      scene.facts.length > 0 && el('span', {class: 'facts-line'}, scene.facts.join(' · ')),
      counts));
  let drawn = '';
  const draw = () => {
    const objects = sceneObjects(scene);
    const mark = markSummary(scene);
    const value = data.hasTruth ? sceneScore(scene) : NaN;
    const now = [objects.length, state.k, value, mark, isRejected(scene)].join();
    if (now === drawn) return;
    drawn = now;
    node.classList.toggle('rejected', isRejected(scene));
    overlay.replaceChildren(...cardPaths(objects));
    score.textContent = Number.isFinite(value) && !scene.ranking && !scene.window ? value.toFixed(3) : '';
    counts.replaceChildren(...(scene.ranking ? rankingLine(scene) : countsLine(objects)));
    badge.textContent = mark;
    badge.hidden = !mark;
  };
  return {scene, node, draw};
}

// One path for all objects of an outcome: a card with a hundred boxes stays a handful of elements.
function cardPaths(objects) {
  const joined = new Map();
  for (const {path, outcome} of objects) if (path) joined.set(outcome, (joined.get(outcome) || '') + path);
  return [...joined].flatMap(([outcome, path]) => strokes(path, outcome));
}

function countsLine(objects) {
  const counts = countOutcomes(objects);
  const shown = Object.keys(OUTCOMES).filter(outcome => outcome !== 'found' && counts[outcome] > 0);
  if (shown.length === 0) return [`no ${data.noun[1]}`];
  return shown.map(outcome => el('span', {class: 'count'},
    swatch(outcome), `${formatCount(counts[outcome])} ${outcomeName(outcome, counts[outcome])}`));
}

function rankingLine(scene) {
  const first = scene.ranking[0];
  const right = scene.ranking.find(one => one.right);
  const chance = first?.probability ?? null;
  return [
    el('span', {class: 'count'}, first?.right ? '✓ ' : data.hasTruth ? '✗ ' : '', first ? first.name : 'no label',
      chance === null ? '' : ` ${formatPercent(chance)}`),
    right && right !== first && el('span', {class: 'count quiet'}, `truth: ${right.name}`),
    isRejected(scene) && el('span', {class: 'count quiet'}, 'rejected'),
  ].filter(Boolean);
}

// Whether an item is rejected, since its first label is less probable than the slider asks for.
function isRejected(scene) {
  return (scene.ranking?.[0]?.probability ?? Infinity) < state.threshold;
}

// What the gallery is made of: whole items, or windows of recordings.
function sceneNoun() {
  return data.scenes.some(scene => scene.window) ? 'window' : data.medium;
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
