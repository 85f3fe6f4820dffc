// Filters, search and order of the gallery.
const FILTERED_OUTCOMES = {
  missed: 'has misses',
  background: 'false alarms',
  duplicate: 'duplicates',
  localisation: 'badly placed',
  class: 'wrong class',
};
const MANY_GROUPS = 8;

// The orders of the gallery that make sense for this page, the first chosen first. Smaller keys come first; `live` ones
// follow the threshold at once, scores only when they are asked for, since cards that jump are hard to follow.
function sortings() {
  const count = outcome => scene => -countOutcomes(liveObjects(scene))[outcome];
  const predictions = scene => -liveObjects(scene).filter(one => one.role === 'prediction').length;
  const score = sign => scene => {
    const value = sceneScore(scene);
    return Number.isNaN(value) ? Infinity : sign * value * (data.better === 'lower' ? -1 : 1);
  };
  const labels = data.geometry === 'labels';
  const ofTruth = [
    {key: 'worst', name: labels ? 'errors first' : 'lowest score first', by: score(1)},
    {key: 'best', name: labels ? 'right ones first' : 'highest score first', by: score(-1)},
  ];
  const ofOutcomes = [
    {key: 'misses', name: 'most misses', by: count('missed'), live: true},
    {key: 'alarms', name: 'most false alarms', by: count('background'), live: true},
  ];
  return [
    ...(data.hasTruth && !data.live?.formula?.pooled ? ofTruth : []),
    ...(data.hasTruth && !labels ? ofOutcomes : []),
    ...(labels ? [] : [{key: 'predictions', name: 'most predictions', by: predictions, live: true}]),
    ...(data.hasScores ? [{key: 'doubt', name: 'most doubtful', by: scene => -doubt(scene), live: true}] : []),
    {key: 'id', name: 'by name', by: () => 0},
  ];
}

// How doubtful a scene is: predictions near the threshold count up to one each; labels, how near the second is.
function doubt(scene) {
  if (scene.ranking) {
    const [first, second] = scene.ranking.map(one => one.probability ?? 0).sort((a, b) => b - a);
    return 1 - (first ?? 0) + (second ?? 0);
  }
  const [low, high] = model.range;
  const near = 0.1 * (high - low);
  return scene.objects.reduce((sum, one) => (one.role === 'prediction' && one.score !== null
    ? sum + Math.max(0, 1 - Math.abs(one.score - state.threshold) / near) : sum), 0);
}

function followsThreshold() {
  return state.outcomes.size > 0 || sortings().find(one => one.key === state.sort)?.live === true;
}

function sceneOutcomes(scene) {
  if (scene.ranking) return scene.ranking[0]?.right ? ['hit'] : ['class'];
  return liveObjects(scene).map(one => one.outcome);
}

function shownScenes() {
  const text = state.text.trim().toLowerCase();
  const shown = data.scenes.filter(scene =>
    (state.tags.size === 0 || scene.tags.some(tag => state.tags.has(tag)))
    && (state.groups.size === 0 || state.groups.has(scene.group))
    && (state.outcomes.size === 0 || sceneOutcomes(scene).some(outcome => state.outcomes.has(outcome)))
    && (!text || scene.key.toLowerCase().includes(text) || scene.id.toLowerCase().includes(text)));
  const sorting = sortings().find(one => one.key === state.sort);
  const keyed = shown.map(scene => [sorting.by(scene), scene]);
  const byName = (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  return keyed.sort((a, b) => (a[0] === b[0] ? 0 : a[0] - b[0]) || byName(a[1], b[1])).map(pair => pair[1]);
}

function filterBar() {
  const changed = () => announce('filters');
  const search = el('input', {
    type: 'search', placeholder: `search ${data.medium}s`, 'aria-label': `search ${data.medium}s by name`,
    oninput: () => { state.text = search.value; changed(); },
  });
  const sort = el('select', {'aria-label': 'order', onchange: () => { state.sort = sort.value; changed(); }},
    ...sortings().map(one => el('option', {value: one.key}, one.name)));
  const shown = el('span', {class: 'shown', role: 'status'});
  const rows = [
    chipRow('chosen as', unique(data.scenes.flatMap(scene => scene.tags)).map(tag => [tag, tag]), state.tags, changed),
    outcomeRow(changed),
    groupRow(changed),
  ];
  const update = () => {
    const count = shownScenes().length;
    const all = plural(data.scenes.length, sceneNoun());
    shown.textContent = count === data.scenes.length ? all : `${formatCount(count)} of ${all}`;
  };
  listen('filters', update);
  listen('threshold', onceAFrame(() => { if (state.outcomes.size > 0) update(); }));
  update();
  return el('div', {class: 'filters'},
    el('div', {class: 'line'}, search, el('label', {}, 'order ', sort), shown), ...rows.filter(Boolean));
}

function chipRow(name, options, chosen, changed) {
  if (options.length < 2) return null;
  const chips = options.map(([key, text]) => {
    const chip = el('button', {type: 'button', class: 'chip', 'aria-pressed': 'false', onclick: () => {
      if (!chosen.delete(key)) chosen.add(key);
      chip.setAttribute('aria-pressed', String(chosen.has(key)));
      changed();
    }}, chosen === state.outcomes && data.geometry !== 'labels' && swatch(key), text);
    return chip;
  });
  return el('div', {class: 'chips', role: 'group', 'aria-label': name}, el('span', {class: 'name'}, name), ...chips);
}

function outcomeRow(changed) {
  if (!data.hasTruth) return null;
  const present = new Set(data.scenes.flatMap(scene => sceneOutcomes(scene)));
  if (present.has('found') || present.has('hit')) present.add('missed');
  const options = data.geometry === 'labels'
    ? [['hit', 'right first'], ['class', 'wrong first']]
    : Object.entries(FILTERED_OUTCOMES).filter(([outcome]) => present.has(outcome));
  return chipRow('outcome', options, state.outcomes, changed);
}

function groupRow(changed) {
  const groups = unique(data.scenes.map(scene => scene.group).filter(group => group !== null));
  if (groups.length <= MANY_GROUPS) return chipRow('group', groups.map(group => [group, group]), state.groups, changed);
  const select = el('select', {'aria-label': 'group', onchange: () => {
    state.groups.clear();
    if (select.selectedIndex > 0) state.groups.add(groups[select.selectedIndex - 1]);
    changed();
  }}, el('option', {}, 'all groups'), ...groups.map(group => el('option', {}, group)));
  return el('div', {class: 'chips'}, el('span', {class: 'name'}, 'group'), select);
}

function unique(values) {
  return [...new Set(values)].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}
